"""Summary readers: the functions that read conversations for a language model, and what it answers, for `bench/linear.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from germane.compaction.llm_summary.abstractive import chunks, sent_turn
from germane.compaction.llm_summary.acceptance import (
    MustKeep,
    Replaced,
    address_in,
    contradiction_in,
    rejection,
    rejection_beside_pinned,
    tidy,
)
from germane.compaction.notes import Artifact, Constraint, ExchangeNotes
from germane.compaction.summary_text import prose_lines, told_summary
from germane.extraction.llm.grounds import Grounds, demanding_clauses
from germane.kinds.memories.conflicts import negations
from germane.text.clauses import clause_texts, sentence_texts
from germane.text.specifics import KnownSpecifics, specifics
from germane.text.templates import json_line
from germane.types.message import Message, Text, ToolCall, ToolResult

__all__ = ["SUMMARY_READERS"]

_NOTES = (
    ExchangeNotes(
        line="Don't touch src/a.py",
        constraints=(Constraint(text="Don't touch the tests of src/a.py."),),
        artifacts=(
            Artifact(kind="file", name="src/b.py", change="deleted"),
            Artifact(kind="task", name="write tests", change="open"),
        ),
    ),
)


def _checked(text: str) -> object:
    replaced = Replaced(text, _NOTES, len)
    replaced.add([text], len)
    must_keep = MustKeep(text, text, _NOTES)
    return (
        rejection(text, tidy(text), replaced, max_tokens=1 << 40, count=len, instructions=text),
        rejection_beside_pinned(text, text, must_keep),
        replaced.holds(text),
        replaced.invented(text),
        must_keep.words_kept(text),
    )


def _grounded(text: str) -> str:
    grounds = Grounds(one.text for one in _NOTES[0].constraints)
    for start in range(0, len(text), 400):
        grounds.add(text[start : start + 400], "user")
    grounds.reverses(text)
    grounds.ends(text)
    return grounds.missing(text)


def _chunked(text: str) -> object:
    """A message that is sent whole, and one that isn't: what has to be shortened costs more from its first character on."""
    parts = (Text(text), ToolCall(id="c", name=text, arguments=text), ToolResult(call_id="c", text=text))
    message = Message(role="user", parts=parts, name=text)
    return sent_turn(message), list(chunks([message], 50, 100, len))


SUMMARY_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "compaction.llm_summary.acceptance.rejection": _checked,
        "compaction.llm_summary.acceptance.tidy": tidy,
        "compaction.llm_summary.acceptance.address_in": address_in,
        "compaction.llm_summary.acceptance.contradiction_in": lambda text: contradiction_in(
            text, _NOTES[0].constraints, _NOTES[0].artifacts
        ),
        "text.clauses.clause_texts": clause_texts,
        "text.clauses.sentence_texts": sentence_texts,
        "extraction.llm.grounds.demanding_clauses": demanding_clauses,
        "extraction.llm.grounds.Grounds.missing": _grounded,
        "extraction.llm.grounds.Grounds.reverses": _grounded,
        "extraction.llm.grounds.Grounds.ends": _grounded,
        "extraction.llm.grounds.Grounds.add": _grounded,
        "text.specifics.specifics": lambda text: list(map(KnownSpecifics([text]).knows, specifics(text))),
        "compaction.llm_summary.abstractive.chunks": _chunked,
        "compaction.summary_text.prose_lines": prose_lines,
        "compaction.summary_text.told_summary": lambda text: told_summary(prose_lines(text), _NOTES, 1 << 40, len),
        "kinds.memories.conflicts.negations": negations,
        "text.templates.json_line": json_line,
    }
)
"""Functions by module and name."""
