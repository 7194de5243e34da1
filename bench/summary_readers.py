"""Summary readers: the functions that read conversations for a language model, and what it answers, for `bench/linear.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from germane.compaction.llm_summary.acceptance import MustKeep, Replaced, dropped, refused, tidied
from germane.compaction.llm_summary.addressed import addresses
from germane.compaction.llm_summary.contradiction import contradicts
from germane.compaction.llm_summary.summary_prompt import chunks, sent
from germane.compaction.llm_summary.told_summary import prose_lines, told_summary
from germane.compaction.notes import Artifact, Constraint, ExchangeNotes
from germane.memories.contrast import negations
from germane.memories.grounds import Grounds, demanding_clauses
from germane.text.json_line import json_line
from germane.text.sentences import clause_texts, sentence_texts
from germane.text.specifics import KnownSpecifics, specifics
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
        refused(text, tidied(text), replaced, max_tokens=1 << 40, count=len, instructions=text),
        dropped(text, text, must_keep),
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
    return sent(message), list(chunks([message], 50, 100, len))


SUMMARY_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "compaction.llm_summary.acceptance.refused": _checked,
        "compaction.llm_summary.acceptance.tidied": tidied,
        "compaction.llm_summary.addressed.addresses": addresses,
        "compaction.llm_summary.contradiction.contradicts": lambda text: contradicts(
            text, _NOTES[0].constraints, _NOTES[0].artifacts
        ),
        "text.sentences.clause_texts": clause_texts,
        "text.sentences.sentence_texts": sentence_texts,
        "memories.grounds.demanding_clauses": demanding_clauses,
        "memories.grounds.Grounds.missing": _grounded,
        "memories.grounds.Grounds.reverses": _grounded,
        "memories.grounds.Grounds.ends": _grounded,
        "memories.grounds.Grounds.add": _grounded,
        "text.specifics.specifics": lambda text: list(map(KnownSpecifics([text]).knows, specifics(text))),
        "compaction.llm_summary.summary_prompt.chunks": _chunked,
        "compaction.llm_summary.told_summary.prose_lines": prose_lines,
        "compaction.llm_summary.told_summary.told_summary": lambda text: told_summary(prose_lines(text), _NOTES, 1 << 40, len),
        "memories.contrast.negations": negations,
        "text.json_line.json_line": json_line,
    }
)
"""Functions by module and name."""
