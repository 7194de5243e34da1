"""List readers: every function that reads a list of the caller's, wrapped to take nothing but the list, for `bench/linear.py`.

A list holds messages in the shape of a provider, mutations of a block, tools, calls, or lines of documents. Each
kind of item is made by its number, so that a list can hold any two kinds in any order. A test checks that every public function
that takes such a list is here, or in `LISTS_UNREAD` with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from germane.compaction.eviction import keep_newest
from germane.compaction.exchanges import divide
from germane.compaction.reading.exchange import read_exchange
from germane.compaction.reading.outline_line import read_line
from germane.dialects.edits import continued, open_calls, orphans
from germane.dialects.framework_messages import joined_messages
from germane.dialects.pairing import join_behind_calls, join_calls, pair_calls
from germane.dialects.registry import dialect, outgoing, parse_all
from germane.dialects.responses_pairing import orphaned_items, pair_items, windows
from germane.dialects.tool_state import unsettled
from germane.dialects.tools import convert_tools
from germane.errors import GermaneError
from germane.integrations import MemoryArchive, Truncate, compact
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.mutation import as_dict
from germane.kinds.blocks.plans import screened_mutations, words_of
from germane.kinds.blocks.schema import ListSchema, Schema, TextSchema
from germane.kinds.documents.formats import divide as divide_document
from germane.stages.inject import place_texts
from germane.tool_rules.enforce import ToolRules
from germane.tool_rules.value import MaxCalls
from germane.types.message import ToolCall

__all__ = ["LISTS", "LISTS_UNREAD", "LIST_SHAPES", "ListReader"]

Item = Callable[[int], Any]
_IDS = 3
"""Of `calls again` and `results again`, so many ids are used in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListReader:
    """`items` make an item of each kind by its number; `read` is given the list."""

    items: Mapping[str, Item]
    read: Callable[[Sequence[Any]], object]


def _chat_call(id: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


def _piece(id: str, text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "id": id, "content": [{"type": "text", "text": text}]}


_CHAT: Mapping[str, Item] = MappingProxyType(
    {
        "user": lambda n: {"role": "user", "content": f"hi {n}"},
        "named user": lambda n: {"role": "user", "name": f"p{n % 4}", "content": "hi"},
        "white space": lambda n: {"role": "user", "content": " "},
        "demand": lambda n: {"role": "user", "content": f"Never touch file{n}.py."},
        "answer": lambda n: {"role": "assistant", "content": "ok"},
        "system": lambda n: {"role": "system", "content": f"rule {n}"},
        "call": lambda n: {"role": "assistant", "content": None, "tool_calls": [_chat_call(f"c{n}")]},
        "call again": lambda n: {"role": "assistant", "content": None, "tool_calls": [_chat_call(f"c{n % _IDS}")]},
        "result": lambda n: {"role": "tool", "tool_call_id": f"c{n}", "content": "out"},
        "result of the one before": lambda n: {"role": "tool", "tool_call_id": f"c{n - 1}", "content": "out"},
        "result again": lambda n: {"role": "tool", "tool_call_id": f"c{n % _IDS}", "content": "out"},
    }
)
_RESPONSES: Mapping[str, Item] = MappingProxyType(
    {
        "user": lambda n: {"role": "user", "content": f"hi {n}"},
        "answer": lambda n: {"role": "assistant", "content": [{"type": "output_text", "text": "ok", "annotations": []}]},
        "reasoning": lambda n: {"type": "reasoning", "id": f"rs_{n}", "summary": []},
        "reasoning again": lambda n: {"type": "reasoning", "id": "rs", "summary": []},
        "call": lambda n: {"type": "function_call", "id": f"fc_{n}", "call_id": f"c{n}", "name": "f", "arguments": "{}"},
        "call again": lambda n: {"type": "function_call", "call_id": f"c{n % _IDS}", "name": "f", "arguments": "{}"},
        "output": lambda n: {"type": "function_call_output", "call_id": f"c{n}", "output": "out"},
        "output of the one before": lambda n: {"type": "function_call_output", "call_id": f"c{n - 1}", "output": "out"},
        "reference": lambda n: {"type": "item_reference", "id": f"x{n}"},
        "search": lambda n: {"type": "web_search_call", "id": f"ws_{n}", "status": "completed"},
    }
)
_PIECES: Mapping[str, Item] = MappingProxyType(
    {
        "piece of one": lambda n: _piece("m", f"t{n}"),
        "piece of its own": lambda n: _piece(f"m{n}", "t"),
        "result": lambda n: {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "out"}]},
        "user": lambda n: {"role": "user", "content": f"hi {n}"},
    }
)
_ANTHROPIC: Mapping[str, Item] = MappingProxyType(
    {
        "user": lambda n: {"role": "user", "content": f"hi {n}"},
        "answer": lambda n: {"role": "assistant", "content": "ok"},
        "thinking": lambda n: {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": f"s{n}"}]},
        "call": lambda n: {"role": "assistant", "content": [{"type": "tool_use", "id": f"c{n}", "name": "f", "input": {}}]},
        "result": lambda n: {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"c{n}", "content": "out"}]},
        "result of the one before": lambda n: {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"c{n - 1}", "content": "out"}],
        },
        "server's call": lambda n: {
            "role": "assistant",
            "content": [{"type": "server_tool_use", "id": f"s{n}", "name": "web_search", "input": {}}],
        },
    }
)
_GEMINI: Mapping[str, Item] = MappingProxyType(
    {
        "user": lambda n: {"role": "user", "parts": [{"text": f"hi {n}"}]},
        "answer": lambda n: {"role": "model", "parts": [{"text": "ok"}]},
        "call": lambda n: {"role": "model", "parts": [{"functionCall": {"name": f"f{n % _IDS}", "args": {}}}]},
        "result": lambda n: {"role": "user", "parts": [{"functionResponse": {"name": f"f{n % _IDS}", "response": {}}}]},
        "signed": lambda n: {"role": "model", "parts": [{"text": "ok", "thoughtSignature": "c2ln"}]},
    }
)
_PROVIDERS = MappingProxyType(
    {"openai": _CHAT, "openai-responses": _RESPONSES, "anthropic": _ANTHROPIC, "gemini": _GEMINI},
)


def _turns(raws: Sequence[Any], provider: str) -> list[Any]:
    return [outgoing(message, raw, provider) for message, raw in zip(parse_all(raws, provider), raws, strict=True)]


def _sent(provider: str) -> Callable[[Sequence[Any]], object]:
    """Text is placed into the conversation, and it is written and checked."""

    def read(raws: Sequence[Any]) -> object:
        one = dialect(provider)
        _, placed = place_texts(_turns(raws, provider), "stable", "late", "split")
        wire = one.compose(placed)
        return one.faults(wire), orphans(placed, provider)

    return read


def _parsed(work: Callable[[Any], object]) -> Callable[[Sequence[Any]], object]:
    return lambda raws: work(parse_all(raws))


def _compacted(tokens: int, **terms: Any) -> Callable[[Sequence[Any]], object]:
    return lambda raws: compact(raws, model="gpt-4o", max_tokens=tokens, archive=MemoryArchive(), **terms)


_TEXT: Mapping[str, Item] = MappingProxyType(
    {
        "append": lambda n: {"op": "append_text", "text": "y"},
        "lines": lambda n: {"op": "insert_lines", "line": 0, "text": f"line {n}"},
        "set": lambda n: {"op": "set_text", "text": f"text {n}"},
        "value": lambda n: {"op": "set_value", "value": f"text {n}"},
    }
)
_LIST: Mapping[str, Item] = MappingProxyType(
    {
        "push": lambda n: {"op": "push_item", "value": f"item {n}"},
        "insert": lambda n: {"op": "insert_item", "index": 0, "value": f"item {n}"},
        "update": lambda n: {"op": "update_item", "index": 0, "value": f"item {n}"},
        "move": lambda n: {"op": "move_item", "index": 0, "to": 1},
        "value": lambda n: {"op": "set_value", "value": ["a", "b"]},
    }
)


def _edited(schema: Schema, value: object) -> Callable[[Sequence[Any]], object]:
    def read(given: Sequence[Any]) -> object:
        document = BlockDocument.new(schema, value)
        for start in range(0, len(given), 1_000):
            try:
                mutations, _ = screened_mutations(given[start : start + 1_000], "off")
                document.apply(*mutations)
            except GermaneError as error:
                return str(error)
        return words_of(mutations), [as_dict(one) for one in mutations]

    return read


_TOOLS: Mapping[str, Item] = MappingProxyType(
    {
        "function": lambda n: {"type": "function", "function": {"name": f"f{n}", "parameters": {"type": "object"}}},
        "same name": lambda n: {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
        "long name": lambda n: {"name": "f" * 200, "input_schema": {"type": "object", "properties": {}}},
    }
)
_CODE: Mapping[str, Item] = MappingProxyType(
    {
        "deep": lambda n: " " * (n % 40) + "if x:",
        "definition": lambda n: f"def f{n}():",
        "method": lambda n: f"    def f{n}(self):",
        "statement": lambda n: f"    x = {n}",
        "comment": lambda n: "    # note",
        "blank": lambda n: "",
        "closer": lambda n: "}",
        "heading": lambda n: f"## {n}",
        "row": lambda n: f"{n},a,b",
        "log": lambda n: f"2026-01-01T00:00:{n % 60:02} INFO {n}",
    }
)
LIST_SHAPES: Mapping[str, Callable[[Item, Item, int], list[Any]]] = MappingProxyType(
    {
        "run of a": lambda a, b, n: [a(at) for at in range(n)],
        "a and b in turn": lambda a, b, n: [(b if at % 2 else a)(at) for at in range(n)],
        "a, then b": lambda a, b, n: [a(at) for at in range(n // 2)] + [b(at) for at in range(n - n // 2)],
        "one a, then b": lambda a, b, n: [a(0), *(b(at) for at in range(n - 1))],
        "b, then one a": lambda a, b, n: [*(b(at) for at in range(n - 1)), a(n)],
    }
)


def _paired(provider: str) -> Callable[[Sequence[Any]], object]:
    return lambda raws: (join_behind_calls(pair_calls(_turns(raws, provider))), join_calls(_turns(raws, provider)))


def _divided(kind: Any) -> Callable[[Sequence[Any]], object]:
    return lambda lines: divide_document(["\n".join(lines)], kind)


_RULED = ToolRules((MaxCalls(tool="f", count=2),))

LISTS: Mapping[str, ListReader] = MappingProxyType(
    {
        **{
            f"dialects.dialect.Dialect.compose {provider}": ListReader(items=items, read=_sent(provider))
            for provider, items in _PROVIDERS.items()
        },
        **{
            f"dialects.pairing.pair_calls {provider}": ListReader(
                items=items,
                read=_paired(provider),
            )
            for provider, items in _PROVIDERS.items()
        },
        "dialects.responses_pairing.pair_items": ListReader(
            items=_RESPONSES,
            read=lambda raws: (
                pair_items(turns := _turns(raws, "openai-responses")),
                list(orphaned_items(turns)),
                windows(turns),
            ),
        ),
        "dialects.framework_messages.joined_messages": ListReader(items=_PIECES, read=lambda raws: list(joined_messages(raws))),
        "dialects.tool_state.unsettled": ListReader(items=_CHAT, read=lambda raws: unsettled(parse_all(raws), raws)),
        "dialects.edits.open_calls": ListReader(items=_CHAT, read=_parsed(open_calls)),
        "dialects.edits.continued": ListReader(
            items=_CHAT, read=lambda raws: continued(raws, "openai", result="not done", said="go on")
        ),
        "dialects.tools.write_tools": ListReader(
            items=_TOOLS, read=lambda raws: [convert_tools(raws[:2_000], provider) for provider in _PROVIDERS]
        ),
        "compaction.exchanges.divide": ListReader(items=_CHAT, read=_parsed(divide)),
        "compaction.eviction.keep_newest": ListReader(
            items=_CHAT, read=_parsed(lambda messages: keep_newest(messages, [9] * len(messages), 900, 100))
        ),
        "compaction.reading.exchange.read_exchange": ListReader(items=_CHAT, read=_parsed(read_exchange)),
        "compaction.reading.outline_line.read_line": ListReader(items=_CHAT, read=_parsed(read_line)),
        "integrations.compactor.compact": ListReader(items=_CHAT, read=_compacted(4_000)),
        "integrations.compactor.compact for nothing": ListReader(items=_CHAT, read=_compacted(40)),
        "integrations.compactor.compact the newest": ListReader(
            items=_CHAT, read=_compacted(4_000, strategy=Truncate(keep_recent=10))
        ),
        "kinds.blocks.document.BlockDocument.apply text": ListReader(items=_TEXT, read=_edited(TextSchema(), "x" * 9_000)),
        "kinds.blocks.document.BlockDocument.apply list": ListReader(items=_LIST, read=_edited(ListSchema(), ["a", "b"])),
        "tool_rules.enforce.ToolRules.check_all": ListReader(
            items={"call": lambda n: ToolCall(id=f"c{n}", name="f", arguments="{}")},
            read=lambda calls: (_RULED.check_all(calls), _RULED.called(*calls)),
        ),
        **{
            f"kinds.documents.value.blank_separated {kind}": ListReader(items=_CODE, read=_divided(kind))
            for kind in ("code", "markdown", "plain", "log", "rows")
        },
    }
)
"""Functions by module and name, with a word where one has several."""

_SENT = "dialects.dialect.Dialect.compose, which is measured"
_COMPACT = "integrations.compactor.compact, which is measured"
_ONE = "one pass over what is given, each item by itself"
LISTS_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "integrations.transcripts.transcript.transcript_format": "looks at the members of fifty lines",
        **{
            f"dialects.{name}": _SENT
            for name in (
                *("anthropic.Anthropic.compose", "anthropic.Anthropic.render", "gemini.Gemini.compose", "gemini.Gemini.render"),
                *(
                    "openai_chat.OpenAIChat.compose",
                    "openai_chat.OpenAIChat.render",
                    "openai_responses.OpenAIResponses.compose",
                ),
                *("openai_responses.OpenAIResponses.render", "dialect.Dialect.render", "edits.orphans", "registry.shaping"),
                *("opaque.as_result", "openai_content.joined_answers", "pairing.end_of_calls", "pairing.join_behind_calls"),
                *("anthropic_check.breakpoints", "anthropic_check.may_stand", "anthropic.behind_the_user"),
                *("anthropic.write_system", "anthropic_check.ends_in_thinking", "anthropic_check.lone_server_blocks"),
                *("gemini.unsigned", "pairing.end_of_results", "pairing.join_calls", "pairing.match_results"),
                *("registry.parse_all", "registry.body_of"),
            )
        },
        "dialects.responses_pairing.orphaned_items": "dialects.responses_pairing.pair_items, which is measured with it",
        "dialects.responses_pairing.windows": "dialects.responses_pairing.pair_items, which is measured with it",
        "stages.inject.place_texts": _SENT,
        "stages.inject.last_human": _SENT,
        **{
            f"compaction.{name}": _COMPACT
            for name in (
                *("conversation.plan_compaction", "conversation.GrowingConversation.renew", "message_cost.Measure.fixed"),
                *("conversation.FollowedConversation.plan", "render.origins"),
            )
        },
        **{f"kinds.conversations.{name}": _COMPACT for name in ("messages.rebuild", "value.checksum_of", "value.handle_of")},
        "compaction.llm_summary.abstractive.abstract": "calls a model",
        "compaction.llm_summary.abstractive.TellingModel.tell": "a protocol",
        "compaction.llm_summary.abstractive.chunks": _ONE,
        **{
            f"integrations.{name}": _COMPACT
            for name in (
                *("frameworks.FrameworkCompaction.compact", "frameworks.is_unchanged", "compactor.compactable"),
                *("compactor.Compactor.extend", "compactor.Compactor.compact", "compactor.recompact"),
                *("langgraph.compacted_messages", "pydantic_ai.compacted_messages"),
                *("frameworks.said", "frameworks.assistant", "frameworks.result"),
            )
        },
        "integrations.memory_calls.placed": _ONE,
        "integrations.openai_agents.is_continued": _ONE,
        "kinds.blocks.plans.edit_block": "kinds.blocks.document.BlockDocument.apply, which is measured",
        "kinds.blocks.plans.words_of": "kinds.blocks.document.BlockDocument.apply, which is measured with it",
        "kinds.blocks.access.digest_of": _ONE,
        "catalog.request_tokens.at_most": _ONE,
        "catalog.request_tokens.is_light": _ONE,
        "catalog.request_tokens.measure": _ONE,
        "catalog.request_tokens.texts_of": _ONE,
        "catalog.request_tokens.tools_tokens": _ONE,
        "kinds.documents.value.join_pieces": "kinds.documents.value.blank_separated, which is measured with the whole division",
        "extraction.messages.memories_of": _ONE,
        "extraction.messages.endings_of": _ONE,
        "extraction.messages.corrections_of": _ONE,
        "kinds.messages.plans.record": "a plan of the store; `bench ingest` measures it",
        "tool_rules.enforce.ToolRules.called": "tool_rules.enforce.ToolRules.check_all, which is measured with it",
    }
)
"""Functions that aren't measured by themselves, with the reason."""
