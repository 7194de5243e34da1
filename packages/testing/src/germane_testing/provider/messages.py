"""Messages: Anthropic's protocol of content blocks, as JSON and as events.

Threads, bound thinking and the diagnostics of the cache are in `threads`, `binding` and `prompt_cache`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from germane_testing.provider.answering import Answer, Ids
from germane_testing.provider.anthropic_rules import BINDING_BETA, anthropic_refuses
from germane_testing.provider.binding import Binding, Checked, binding_of, checked_thinking, signed
from germane_testing.provider.chat import text_of
from germane_testing.provider.delivery import Event, pieces_of
from germane_testing.provider.fields import Body, listed, mapping
from germane_testing.provider.prompt_cache import BYTES_PER_TOKEN, Prompt, PromptCache, Seen, canonical
from germane_testing.provider.received import Asked, OfferedTool, Received, Refused
from germane_testing.provider.replies import Refusal, Reply, Text, Thinking, ToolCall
from germane_testing.provider.threads import Threads, Turn

__all__ = ["Messages"]

_REASONS = {"end": "end_turn", "tools": "tool_use", "refusal": "refusal", "length": "max_tokens", "filter": "refusal"}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_EMPTY: dict[str, Body] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
_COMPARED = ("thinking", "tool_choice", "output_config")


class Messages:
    """Answers requests of the paths `/messages` and `/messages/count_tokens`."""

    def __init__(self, ids: Ids, cache: PromptCache, threads: Threads, *, strict: bool, binding: Binding | None) -> None:
        self._ids, self._cache, self._threads = ids, cache, threads
        self._strict, self._binding = strict, binding

    def read(self, received: Received, body: Body) -> Asked:
        """Raises `Refused`."""
        turn = self._threads.joined(body)
        if self._strict:
            reasons = tuple(anthropic_refuses(turn.body, received.betas, continues=turn.thread is not None))
            if reasons:
                raise Refused(400, reasons)
        checked, whole = self._checked(turn), turn.body
        messages = listed(whole.get("messages"))
        parts = [(index, part) for index, one in enumerate(messages) for part in listed(one.get("content"))]
        results = [index for index, part in parts if part.get("type") == "tool_result"]
        texts = [(index, text_of(one.get("content"))) for index, one in enumerate(messages) if one.get("role") == "user"]
        users = [(index, text) for index, text in texts if text]
        choice = mapping(whole.get("tool_choice"))
        forced = {"tool": str(choice.get("name")), "any": ""}.get(str(choice.get("type")))
        return Asked(
            received=received,
            protocol="messages",
            model=str(whole.get("model")),
            body=whole,
            text=users[-1][1] if users else "",
            tools=() if choice.get("type") == "none" else tuple(_tools(whole)),
            forced=forced,
            has_results=bool(results),
            answers_tools=bool(results) and results[-1] >= (users[-1][0] if users else -1),
            streams=bool(body.get("stream")),
            kept=(turn, checked),
        )

    def answer(self, asked: Asked, reply: Reply) -> Answer:
        turn, checked = cast("tuple[Turn, Checked]", asked.kept)
        body, id = checked.body, self._ids("msg_")
        diagnosed = mapping(body.get("diagnostics"))
        seen = self._cache.read(_prompt(body), id, diagnosed.get("previous_message_id"))
        content = list(_content(reply, checked, self._ids))
        head: Body = {"id": id, "type": "message", "role": "assistant", "model": reply.model or asked.model}
        told: Body = {"diagnostics": _diagnostics(seen, diagnosed)} if "diagnostics" in body else {}
        if BINDING_BETA in asked.received.betas:
            told["input_transformations"] = list(checked.transformations)
        stop: Body = {"stop_reason": _REASONS[reply.stop], "stop_sequence": None}
        if reply.stop in ("refusal", "filter"):
            stop["stop_details"] = {"type": "refusal", "category": None, "explanation": None}
        usage = _usage(seen, reply, body)
        whole = {**head, "content": content, **stop, "usage": usage, **told}
        start = {
            **head,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**usage, "output_tokens": 1},
            **told,
        }
        self._threads.begun(turn)
        return Answer(
            whole,
            _events(start, content, stop, usage, reply.delivery.characters),
            lambda complete: self._threads.ended(turn, id, content, complete),
        )

    def count(self, received: Received, body: Body) -> Body:
        """The answer of `count_tokens`. Raises `Refused`."""
        reasons = tuple(anthropic_refuses(body, received.betas, counting=True)) if self._strict else ()
        if reasons:
            raise Refused(400, reasons)
        return {
            "input_tokens": -(-len(canonical([body.get(key) for key in ("tools", "system", "messages")])) // BYTES_PER_TOKEN)
        }

    def error(self, status: int, message: str, code: str = "", details: Body | None = None) -> Body:
        kind = code or _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
        error = {"type": kind, "message": message} | ({"details": details} if details else {})
        return {"type": "error", "error": error, "request_id": self._ids("req_")}

    def error_event(self, status: int, message: str, code: str = "") -> Event:
        return "error", self.error(status, message, code)

    def unknown_event(self) -> Event:
        return "message_weather", {"type": "message_weather", "weather": "fair"}

    def headers(self) -> list[tuple[str, str]]:
        return [("request-id", self._ids("req_")), ("anthropic-organization-id", "org_local")]

    def _checked(self, turn: Turn) -> Checked:
        asked = mapping(mapping(turn.body.get("thinking")).get("block_binding"))
        drops = asked.get("prefix_mismatch_behavior") == "drop_block"
        binding = self._binding or binding_of(str(turn.body.get("model")))
        return checked_thinking(turn.body, binding, drops=drops, held=turn.held)


def _tools(body: Body) -> Iterator[OfferedTool]:
    """The tools that the client runs. One whose type begins with `memory_` has the provider's schema."""
    for tool in listed(body.get("tools")):
        kind = str(tool.get("type", "custom"))
        if kind == "custom" or "input_schema" in tool:
            yield OfferedTool(str(tool.get("name")), mapping(tool.get("input_schema")))
        elif kind.startswith(("memory_", "bash_", "text_editor_")):
            yield OfferedTool(str(tool.get("name")), {})


def _prompt(body: Body) -> Prompt:
    options = tuple((key, body.get(key)) for key in _COMPARED)
    return Prompt(str(body.get("model")), body.get("tools"), body.get("system"), listed(body.get("messages")), options)


def _content(reply: Reply, checked: Checked, ids: Ids) -> Iterator[Body]:
    for part in reply.parts:
        match part:
            case Text(text) | Refusal(text):
                block: Body = {"type": "text", "text": text, "citations": None}
            case Thinking(text, redacted):
                signature = signed(checked.prefix, "" if redacted else text)
                block = {"type": "redacted_thinking", "data": signature}
                if not redacted:
                    block = {"type": "thinking", "thinking": text, "signature": signature}
            case ToolCall():
                block = {"type": "tool_use", "id": part.id or ids("toolu_"), "name": part.name, "input": _input(part)}
        if not isinstance(part, Thinking):
            checked.prefix.add("assistant", block)
        yield block


def _input(call: ToolCall) -> Body:
    """The arguments as an object: a text that is none gives an empty one."""
    if not isinstance(call.arguments, str):
        return dict(call.arguments)
    try:
        return mapping(json.loads(call.arguments))
    except ValueError:
        return {}


def _usage(seen: Seen, reply: Reply, body: Body) -> Body:
    given = reply.usage
    total, cached = (given.input, given.cached) if given else (seen.tokens, seen.cached)
    output = given.output if given else -(-reply.size // BYTES_PER_TOKEN)
    marked = b'"cache_control"' in canonical([body.get(key) for key in ("tools", "system", "messages", "cache_control")])
    marked = marked or body.get("cache_control") is not None
    written = total - cached if marked else 0
    return {
        "input_tokens": total - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }


def _diagnostics(seen: Seen, asked: Body) -> Body | None:
    if asked.get("previous_message_id") is None or not seen.change:
        return None
    if seen.change == "unknown":
        return {"cache_miss_reason": {"type": "previous_message_not_found"}}
    if seen.change in _COMPARED:
        return {"cache_miss_reason": {"type": "unavailable"}}
    return {"cache_miss_reason": {"type": f"{seen.change}_changed", "cache_missed_input_tokens": seen.missed}}


def _events(start: Body, content: list[Body], stop: Body, usage: Body, characters: int) -> Iterator[Event]:
    def event(name: str, **data: Any) -> Event:
        return name, {"type": name, **data}

    yield event("message_start", message=start)
    yield event("ping")
    for index, block in enumerate(content):
        kind = block["type"]
        yield event("content_block_start", index=index, content_block={**block, **_EMPTY.get(kind, {})})
        deltas: list[Body] = []
        if kind == "text":
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces_of(block["text"], characters)]
        elif kind == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces_of(block["thinking"], characters)]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif kind == "tool_use":
            written = json.dumps(block["input"], ensure_ascii=False)
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces_of(written, characters))]
        yield from (event("content_block_delta", index=index, delta=delta) for delta in deltas)
        yield event("content_block_stop", index=index)
    counted = {key: value for key, value in usage.items() if key not in ("cache_creation", "service_tier")}
    yield event("message_delta", delta=stop, usage=counted)
    yield event("message_stop")
