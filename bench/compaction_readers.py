"""Compaction readers: the functions that read what an exchange leaves behind, for `bench/linear.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from germane.compaction.notebook import Notebook
from germane.compaction.notes import Artifact, Constraint, ExchangeNotes, Ledger, folded_change
from germane.compaction.placeholders import held_summary, masked_facts, masked_handle, summary_block
from germane.compaction.reading.exchange import read_exchange
from germane.compaction.reading.outline_line import asked_in, line_of, one_line, read_answer, read_line, read_talk, telling
from germane.compaction.reading.results import error_of_result, may_report_error, read_facts, reported_error
from germane.compaction.reading.statements import (
    changes_in,
    constraints_in,
    ids_in,
    json_ids,
    may_tell_changes,
    paths_in,
    plain_path,
    statements_in,
    urls_in,
)
from germane.compaction.reading.tool_actions import boxes_in, file_changes, listed_tasks, shell_changes, tool_arguments
from germane.compaction.summary_text import constraints_left_out, extractive_summary, notes_of_summary
from germane.integrations.frameworks import MemoryArchive
from germane.kinds.conversations.messages import rebuild
from germane.kinds.conversations.value import handle_of
from germane.text.demands import demand_rules, demands_in
from germane.text.own_words.own_words import unquoted_sentences
from germane.types.message import Message, ToolCall, ToolResult

__all__ = ["COMPACTION_READERS", "COMPACTION_UNREAD"]


def _exchange(text: str) -> tuple[Message, ...]:
    """The text as said by the user, as a tool's arguments and result, and as said by the assistant."""
    calls = tuple(
        ToolCall(id=str(number), name=name, arguments=json.dumps({"command": text, "path": text, "todos": [text]}))
        for number, name in enumerate(("bash", "write_file", "todo_write", text))
    )
    results = tuple(ToolResult(call_id=str(number), text=text) for number in range(4))
    said = (Message.of("user", text), Message(role="assistant", parts=calls), Message(role="tool", parts=results))
    return (*said, Message.of("assistant", text))


def _notes(text: str) -> list[ExchangeNotes]:
    parts = [text[start : start + 80] for start in range(0, len(text), 80)]
    artifacts = [Artifact(kind="file", name=part, change=part) for part in parts]
    return [
        ExchangeNotes(line=part, constraints=(Constraint(text=part),), artifacts=(artifact,))
        for part, artifact in zip(parts, artifacts, strict=True)
    ]


def _call(text: str) -> ToolCall:
    return ToolCall(id="a", name="apply_patch", arguments=json.dumps({"patch": f"\n{text}"}))


def _count(text: str) -> int:
    return len(text) // 4


def _summary(text: str) -> Message:
    return Message.of("user", summary_block(text, 9, 0, ""))


COMPACTION_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "kinds.conversations.value.handle_of": lambda text: handle_of("span", [{"role": "user", "content": text}]),
        "compaction.notebook.Notebook.hold": lambda text: Notebook([], _count).hold(text),
        "compaction.reading.statements.constraints_in": constraints_in,
        "text.demands.demands_in": demands_in,
        "compaction.summary_text.constraints_left_out": lambda text: constraints_left_out(_notes(text), text),
        "compaction.summary_text.extractive_summary": lambda text: extractive_summary(_notes(text), len(text) // 16, _count),
        "compaction.summary_text.notes_of_summary": lambda text: notes_of_summary(f"Decisions:\n- {text}"),
        "compaction.notes.Ledger": lambda text: Ledger(_notes(text)).artifacts,
        "compaction.notes.folded_change": lambda text: folded_change("edited ×3", text),
        "compaction.reading.outline_line.line_of": lambda text: line_of([text], [text], [text], text),
        "compaction.reading.outline_line.asked_in": lambda text: asked_in(text, []),
        "compaction.reading.outline_line.one_line": lambda text: one_line(text, 100),
        "compaction.reading.outline_line.telling": telling,
        "text.demands.PhraseRules.find": lambda text: list(demand_rules().find(text)),
        "compaction.reading.results.read_facts": read_facts,
        "text.demands.PhraseRules.named": demand_rules().named,
        "compaction.reading.exchange.read_exchange": lambda text: read_exchange(_exchange(text)),
        "compaction.reading.outline_line.read_answer": read_answer,
        "compaction.reading.outline_line.read_line": lambda text: read_line(_exchange(text)),
        "compaction.reading.outline_line.read_talk": lambda text: read_talk([("user", text), ("assistant", text)]),
        "compaction.reading.statements.ids_in": ids_in,
        "compaction.reading.statements.json_ids": json_ids,
        "compaction.reading.statements.paths_in": lambda text: list(paths_in(text)),
        "compaction.reading.statements.plain_path": plain_path,
        "compaction.reading.statements.urls_in": urls_in,
        "compaction.reading.results.error_of_result": lambda text: error_of_result(ToolResult(call_id="", text=text), ran=True),
        "compaction.reading.results.may_report_error": lambda text: may_report_error(ToolResult(call_id="", text=text)),
        "compaction.reading.results.reported_error": reported_error,
        "compaction.reading.tool_actions.shell_changes": shell_changes,
        "compaction.reading.statements.changes_in": lambda text: list(changes_in(unquoted_sentences(text))),
        "compaction.reading.statements.may_tell_changes": may_tell_changes,
        "compaction.reading.statements.statements_in": lambda text: list(statements_in(unquoted_sentences(text))),
        "compaction.reading.tool_actions.boxes_in": lambda text: list(boxes_in(text)),
        "compaction.reading.tool_actions.file_changes": lambda text: file_changes(_call(text), tool_arguments(_call(text))),
        "compaction.reading.tool_actions.listed_tasks": lambda text: list(listed_tasks(_call(text), {"todos": [text]})),
        "kinds.conversations.messages.rebuild": lambda text: rebuild([_summary(text), *_exchange(text)], MemoryArchive()),
        "compaction.placeholders.masked_facts": lambda text: masked_facts(f"[Tool output left out: 9 tokens{text}]"),
        "compaction.placeholders.masked_handle": lambda text: masked_handle(f"[Tool output left out: 9 tokens{text}]"),
        "compaction.placeholders.summary_block": lambda text: held_summary(_summary(text)),
    }
)

_OF_CODE = "given by germane's own code"
_PROTOCOL = "a protocol"
_SUMMARY_READERS = "bench.summary_readers measures it with compaction.llm_summary."
COMPACTION_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "kinds.conversations.value.Archive.get": _PROTOCOL,
        "kinds.conversations.value.told_fingerprint": _OF_CODE,
        "kinds.conversations.value.told_span": _OF_CODE,
        "compaction.llm_summary.abstractive.TellingModel.tell": _PROTOCOL,
        "compaction.llm_summary.abstractive.abstract": "a language's name",
        "compaction.llm_summary.acceptance.MustKeep.contradicted": "compaction.llm_summary.acceptance, which is measured",
        "compaction.llm_summary.acceptance.MustKeep.specifics_kept": f"{_SUMMARY_READERS}acceptance.refused",
        "compaction.llm_summary.acceptance.MustKeep.words_kept": f"{_SUMMARY_READERS}acceptance.refused",
        "compaction.llm_summary.acceptance.Replaced.holds": f"{_SUMMARY_READERS}acceptance.refused",
        "compaction.llm_summary.acceptance.Replaced.invented": f"{_SUMMARY_READERS}acceptance.refused",
        "compaction.llm_summary.acceptance.rejection_beside_pinned": f"{_SUMMARY_READERS}acceptance.refused",
        "text.specifics.KnownSpecifics.add": f"{_SUMMARY_READERS}specifics.specifics",
        "text.specifics.KnownSpecifics.knows": f"{_SUMMARY_READERS}specifics.specifics",
        "compaction.llm_summary.abstractive.summary_instructions": "puts a word in",
        "compaction.llm_summary.abstractive.summary_prompt": "puts the text in; chunks has cut it",
        "compaction.llm_summary.covered_span.SummaryShelf.put": _OF_CODE,
        "compaction.message_cost.Measure.count": "hands over to its tokenizer",
        "compaction.message_cost.Measure.text_tokens": "hands over to its tokenizer",
        "compaction.notebook.Notebook.told_before": "hands over to a tokenizer",
        "kinds.conversations.outline.begins_exchange": "a type, compared",
        "kinds.conversations.outline.line_hash": _OF_CODE,
        "kinds.conversations.outline.outline_name": "an id, put in",
        "kinds.conversations.outline.first_id_of_outline_name": "looks at its end",
        "compaction.placeholders.mask_line": "puts a handle and facts in",
    }
)
