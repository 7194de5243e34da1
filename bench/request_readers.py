"""Request readers: the part of `bench/readers.py` about whole requests: blocks, activity, tools, tool rules,
days, and germane's own text in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import MappingProxyType

from germane.api.builder.system_prompt import Activity, pack_blocks, write_activity
from germane.dialects.edits import authored_dict
from germane.dialects.registry import body_of
from germane.dialects.tools import convert_tools, parse_tools, write_tools
from germane.errors import GermaneError
from germane.stages.read.asks import asked_day
from germane.stages.write.item_text import block_tag, write_block
from germane.text.days.beside import besides
from germane.text.days.times import named_days
from germane.text.days.vocabulary import unaccented
from germane.text.injected import authors_words, injected_spans, system_words, without_injected
from germane.tool_rules.enforce import ToolRules
from germane.tool_rules.turn_state import TurnState, digest_of_call, read_arguments, strict_json
from germane.tool_rules.value import MaxCalls, parse_rule
from germane.tool_rules.wording import quoted, write_rules
from germane.types.candidate import BlockText
from germane.types.codec import decode
from germane.types.json_text import JsonText, read_object, write_json
from germane.types.message import Tool, ToolCall, Wire

__all__ = ["REQUEST_READERS", "REQUEST_UNREAD", "taken"]


@dataclass(frozen=True, slots=True)
class _Nested:
    """What `decode` is measured with."""

    text: str
    inner: tuple[Mapping[str, Mapping[str, str]], ...]


_NONCE = "qhzvkdtwmbxr"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_RULES = (MaxCalls(tool="a", count=1),)


def _block(text: str) -> BlockText:
    return BlockText(id="b", label=text[:256], type="core", text=text, description=text, shared_from=text[:256], schema=text)


def _call(text: str) -> ToolCall:
    return ToolCall(id="", name=text, arguments=text)


def _tool(text: str) -> Tool:
    schema = {"type": "object", "properties": {text: {"type": "string", "description": text}}, "required": [text]}
    return Tool(name=text or "a", description=text, schema=schema, strict=True)


def _shapes(text: str) -> list[dict[str, object]]:
    schema = {"type": "OBJECT", "properties": {text: {"type": text, "minItems": text, "nullable": True}}}
    return [{"name": text or "a", "description": text, "parameters": schema}, {"type": text}]


def _wire(text: str) -> Wire:
    return Wire(messages=[{"role": "user", "content": [{"type": "text", "text": text}]}], system=text)


def _body(text: str) -> object:
    return [
        body_of(provider, model=text, wire=_wire(text), system=(text, text), tools=(), max_output=1)
        for provider in ("openai", "openai-responses", "anthropic", "gemini")
    ]


def taken(check: Callable[[str], object]) -> Callable[[str], object]:
    """Whether it is refused doesn't matter here."""

    def reader(text: str) -> object:
        try:
            return check(text)
        except GermaneError as error:
            return str(error)

    return reader


def _asked_day(text: str) -> object:
    asked, today = f"what did i say yesterday {text} the day before {text} 昨天", date(2026, 1, 1)
    return asked_day(asked, named_days(asked, today), today, 12)


REQUEST_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "text.injected.injected_spans": lambda text: injected_spans(
            f'<a_memories nonce="{_NONCE}">{text[:40]}' * (len(text) // 60)
        ),
        "text.injected.without_injected": lambda text: without_injected(f'<memory nonce="{_NONCE}">{text}</memory>{text}'),
        "text.injected.system_words": lambda text: system_words(f'{text}<memory nonce="{_NONCE}">{text}', _NONCE),
        "text.injected.authors_words": lambda text: authors_words(f'<memory nonce="{_NONCE}">{text}', last=False),
        "dialects.edits.authored_dict": lambda text: authored_dict({"content": [text, {text: text}]}, "user", quotes=True),
        "stages.read.asks.asked_day": _asked_day,
        "text.days.beside.besides": lambda text: besides(f"the day before {text} bir gün önce {text} 前一天"),
        "text.days.times.named_days": lambda text: named_days(
            f"gestern, the day after {text} letzten {text}", date(2026, 1, 1)
        ),
        "text.days.vocabulary.unaccented": unaccented,
        "stages.write.item_text.block_tag": lambda text: block_tag(text, _NONCE),
        "stages.write.item_text.block_tag nonce": lambda text: block_tag(_NONCE * (len(text) // 12), _NONCE),
        "stages.write.item_text.write_block": lambda text: write_block(_block(text), _NONCE, schema=True),
        "api.builder.system_prompt.pack_blocks": lambda text: pack_blocks(
            [_block(text)], [text], available=len(text) // 2 + 100, count=len, nonce=_NONCE
        ),
        "api.builder.system_prompt.write_activity": lambda text: write_activity(
            [Activity(at=_NOW, agent=text, text=text)], _NONCE, UTC
        ),
        "dialects.registry.body_of": _body,
        "dialects.tools.parse_tools": taken(lambda text: parse_tools(_shapes(text))),
        "dialects.tools.convert_tools": taken(lambda text: convert_tools(_shapes(text), "openai")),
        "dialects.tools.write_tools": lambda text: [
            write_tools([_tool(text)] * 3, provider) for provider in ("openai", "openai-responses", "anthropic", "gemini")
        ],
        "tool_rules.turn_state.digest_of_call": lambda text: digest_of_call(_call(text)),
        "tool_rules.turn_state.read_arguments": lambda text: read_arguments(_call(json.dumps({text: text}))),
        "tool_rules.enforce.ToolRules.from_json": taken(lambda text: ToolRules.from_json(_RULES, text)),
        "tool_rules.enforce.ToolRules.check": lambda text: ToolRules(_RULES).check(_call(text)),
        "tool_rules.turn_state.strict_json": lambda text: strict_json(json.dumps({text: [text]})),
        "tool_rules.value.parse_rule": taken(lambda text: parse_rule({"kind": text, text: text})),
        "tool_rules.turn_state.TurnState.from_json": taken(lambda text: TurnState.from_json(json.dumps({text: text}), ["a"])),
        "types.codec.decode": taken(lambda text: decode(_Nested, {"text": text, "inner": [{text: {text: text}}]})),
        "types.json_text.read_object": taken(lambda text: read_object(f'{{"a": {text}'.encode("utf-8", "replace"), "it")),
        "types.json_text.read_object deep": taken(lambda text: read_object(b'{"a": ' + b"[" * len(text), "it")),
        "types.json_text.read_object many": taken(lambda text: read_object(json.dumps({"a": [*text]}).encode(), "it")),
        "types.json_text.write_json": lambda text: write_json([text, "\ud800"]),
        "types.json_text.JsonText.read": taken(lambda text: JsonText().read(text, "it")),
        "tool_rules.wording.quoted": quoted,
        "tool_rules.wording.write_rules": taken(lambda text: write_rules([MaxCalls(tool=text[:256], count=1)])),
    }
)
"""As `READERS`."""

_CHECKED = "the names of tools, which rules.tool_rule.parse_rule checks"
REQUEST_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "tool_rules.rule_index.cooling": _CHECKED,
        "tool_rules.rule_index.excluded": _CHECKED,
        "tool_rules.rule_index.exhausted": _CHECKED,
        "tool_rules.rule_index.obstacle": _CHECKED,
        "tool_rules.turn_state.TurnState.with_batch": _CHECKED,
    }
)
"""As `UNREAD`."""
