"""Responses: OpenAI's protocol of items, as JSON and as numbered events; what it holds is in `stored_responses`.

Reasoning is bound as Anthropic's thinking is: `encrypted_content` that isn't this provider's is refused, and an item whose
prefix has changed is left out and told in `input_transformations`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from germane_testing.provider.answering import Answer, Ids, OpenAIErrors
from germane_testing.provider.binding import Binding, BoundPrefix, binding_of, opened, signed
from germane_testing.provider.chat import forced_tool, text_of
from germane_testing.provider.delivery import Event, pieces_of
from germane_testing.provider.fields import Body, listed, mapping, words
from germane_testing.provider.openai_rules import responses_refuses
from germane_testing.provider.prompt_cache import BYTES_PER_TOKEN, Prompt, PromptCache, Seen
from germane_testing.provider.received import Asked, OfferedTool, Received, Refused
from germane_testing.provider.replies import Refusal, Reply, Text, Thinking, ToolCall
from germane_testing.provider.stored_responses import StoredResponse, StoredResponses, input_items

__all__ = ["Responses"]

_REASONS = {"length": "max_output_tokens", "filter": "content_filter"}
_COPIED = words("""
    background instructions max_output_tokens max_tool_calls metadata previous_response_id prompt_cache_key reasoning
    safety_identifier temperature text top_p truncation user
""")
"""Fields of a request that its response repeats."""
_EMPTY: dict[str, Body] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
}
_COMPARED = {
    "prompt_cache_key": "prompt_cache_key_changed",
    "text": "text_format_changed",
    "reasoning": "reasoning_effort_changed",
    "service_tier": "service_tier_changed",
    "model": "model_changed",
    "tools": "tools_changed",
    "system": "input_changed",
    "messages": "input_changed",
}


@dataclass(slots=True)
class _Turn:
    """A request as it was read: the items that the provider holds in front of it, those that were given and taken, what is told
    of those that weren't, and the prefix of the answer."""

    body: Body
    before: list[Body]
    given: list[Body]
    removed: list[Body]
    prefix: BoundPrefix


class Responses(OpenAIErrors):
    """Answers requests of the path `/responses`, and events of its WebSocket."""

    def __init__(self, ids: Ids, cache: PromptCache, stored: StoredResponses, *, strict: bool, binding: Binding | None) -> None:
        self._ids, self._cache, self._stored = ids, cache, stored
        self._strict, self._binding = strict, binding

    def read(self, received: Received, body: Body) -> Asked:
        """Raises `Refused`."""
        return self.read_event(received, body)

    def read_event(
        self, received: Received, body: Body, own: Iterable[tuple[str, StoredResponse]] = (), *, socket: bool = False
    ) -> Asked:
        """Reads a request, or a `response.create` of a socket, whose `own` responses weren't stored. Raises `Refused`."""
        before = self._stored.before(body, own)
        if self._strict:
            reasons = tuple(responses_refuses(body, held=before, socket=socket))
            if reasons:
                raise Refused(400, reasons)
        turn = self._checked(body, before, input_items(body))
        items = [*before, *turn.given]
        users = [index for index, item in enumerate(items) if item.get("role") == "user"]
        results = [index for index, item in enumerate(items) if str(item.get("type")).endswith("_call_output")]
        return Asked(
            received=received,
            protocol="responses",
            model=str(body.get("model")),
            body={**body, "input": items},
            text=text_of(items[users[-1]].get("content")) if users else "",
            tools=() if body.get("tool_choice") == "none" else tuple(_tools(body)),
            forced=forced_tool(body.get("tool_choice")),
            has_results=bool(results),
            answers_tools=bool(results) and results[-1] > (users[-1] if users else -1),
            streams=socket or bool(body.get("stream")),
            kept=turn,
        )

    def answer(self, asked: Asked, reply: Reply) -> Answer:
        turn, id = cast("_Turn", asked.kept), self._ids("resp_")
        body, cached = turn.body, mapping(turn.body.get("prompt_cache_options"))
        options = tuple((key, body.get(key)) for key in ("prompt_cache_key", "text", "reasoning", "service_tier"))
        read = [_bare(item) for item in (*turn.before, *turn.given)]
        prompt = Prompt(asked.model, body.get("tools"), body.get("instructions"), read, options)
        seen = self._cache.read(prompt, id, cached.get("comparison_response_id"))
        head = {"id": id, "model": reply.model or asked.model, **_head(turn)}
        if cached.get("comparison_response_id") is not None:
            head["prompt_cache_diagnostics"] = _diagnostics(seen)
        generates = body.get("generate") is not False and not cached.get("prewarm")
        output = list(_items(reply, turn, asked.tools, self._ids)) if generates else []
        reason = _REASONS.get(reply.stop)
        ending = "incomplete" if reason else "completed"
        whole = {**head, "status": ending, "output": output, "usage": _usage(seen, reply, generates=generates)}
        if reason:
            whole["incomplete_details"] = {"reason": reason}
        events = list(_events(head, output, whole, ending, reply.delivery.characters))
        stored = StoredResponse(whole, turn.before, self._stored.with_ids(turn.given), events)
        if body.get("background"):
            stored.background, stored.stage = True, "queued"

        def finish(complete: bool) -> None:
            if complete or stored.background:
                self._stored.keep(body, stored)

        queued = {**whole, "status": "queued", "output": [], "usage": None}
        return Answer(queued if stored.background else whole, events, finish, stored)

    def error_event(self, status: int, message: str, code: str = "") -> Event:
        return "error", {"type": "error", "code": code or None, "message": message, "param": None, "sequence_number": 0}

    def unknown_event(self) -> Event:
        return "response.weather", {"type": "response.weather", "weather": "fair", "sequence_number": 0}

    def _checked(self, body: Body, before: list[Body], given: Sequence[Body]) -> _Turn:
        """Leaves out the reasoning that is bound to another conversation. Raises `Refused` for what isn't the provider's."""
        prefix = BoundPrefix(body.get("tools"), body.get("instructions"))
        binding = self._binding or binding_of(str(body.get("model")))
        kept: list[Body] = []
        removed: list[Body] = []
        for number, item in enumerate([*before, *given]):
            if item.get("type") != "reasoning":
                prefix.add("item", _bare(item))
            elif number < len(before):
                continue
            elif binding != "off" and item.get("encrypted_content") is None:
                if self._strict and item.get("id") not in self._stored.item_ids:
                    said = f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is set to false."
                    raise Refused(404, (said,))
            elif binding != "off":
                digest = opened(item["encrypted_content"], "")
                if digest is None:
                    said = f"The encrypted content for item {item.get('id')} could not be verified."
                    raise Refused(400, (said,), "invalid_encrypted_content")
                if digest != prefix.digest() and binding == "enforced":
                    reason = {"action": "removed", "reason": "prefix_mismatch", "type": "reasoning"}
                    removed.append({"id": str(item.get("id")), **reason})
                    continue
            if number >= len(before):
                kept.append(item)
        return _Turn(body, before, kept, removed, prefix)


def _head(turn: _Turn) -> Body:
    """The fields of a response that its request decides."""
    body = turn.body
    head: Body = {"object": "response", "created_at": 1_700_000_000, "error": None, "incomplete_details": None}
    head |= {key: body.get(key) for key in sorted(_COPIED)}
    head |= {"parallel_tool_calls": body.get("parallel_tool_calls", True), "store": body.get("store") is not False}
    head |= {"tool_choice": body.get("tool_choice") or "auto", "tools": body.get("tools") or []}
    conversation = body.get("conversation")
    if conversation is not None:
        head["conversation"] = {"id": mapping(conversation).get("id", conversation)}
    if turn.removed:
        head["input_transformations"] = turn.removed
    return head


def _bare(item: Body) -> Body:
    """An item as it is the same whoever holds it: without its id and status, its texts in one shape."""
    bare = {key: value for key, value in item.items() if key not in ("id", "status", "type", "phase")}
    if "role" in item:
        parts = [
            {key: value for key, value in part.items() if key not in ("annotations", "logprobs", "type")}
            for part in listed(item.get("content"))
        ]
        bare["content"] = [{"text": item["content"]}] if isinstance(item.get("content"), str) else parts
    return bare


def _tools(body: Body) -> Iterator[OfferedTool]:
    for tool in listed(body.get("tools")):
        if tool.get("type") in ("function", "custom"):
            yield OfferedTool(str(tool.get("name")), mapping(tool.get("parameters")), tool["type"] == "custom")


def _items(reply: Reply, turn: _Turn, tools: Sequence[OfferedTool], ids: Ids) -> Iterator[Body]:
    custom = {tool.name for tool in tools if tool.custom}
    include = turn.body.get("include")
    encrypted = isinstance(include, list) and "reasoning.encrypted_content" in include
    for part in reply.parts:
        match part:
            case Text(text):
                content: Body = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
                item: Body = {"type": "message", "id": ids("msg_"), "status": "completed", "role": "assistant"}
                item["content"] = [content]
            case Refusal(text):
                item = {"type": "message", "id": ids("msg_"), "status": "completed", "role": "assistant"}
                item["content"] = [{"type": "refusal", "refusal": text}]
            case Thinking(text, redacted):
                summary = [] if redacted else [{"type": "summary_text", "text": text}]
                item = {"type": "reasoning", "id": ids("rs_"), "summary": summary}
                item["encrypted_content"] = signed(turn.prefix, "") if encrypted else None
            case ToolCall():
                id = part.id or ids("call_")
                if part.name in custom:
                    item = {"type": "custom_tool_call", "id": ids("ctc_"), "call_id": id, "name": part.name}
                    item |= {"input": part.written, "status": "completed"}
                else:
                    item = {"type": "function_call", "id": ids("fc_"), "call_id": id, "name": part.name}
                    item |= {"arguments": part.written, "status": "completed"}
        if not isinstance(part, Thinking):
            turn.prefix.add("item", _bare(item))
        yield item


def _usage(seen: Seen, reply: Reply, *, generates: bool) -> Body:
    given = reply.usage
    total, cached = (given.input, given.cached) if given else (seen.tokens, seen.cached)
    thinking = sum(len(part.text.encode()) for part in reply.parts if isinstance(part, Thinking)) // BYTES_PER_TOKEN
    output = (given.output if given else -(-reply.size // BYTES_PER_TOKEN)) if generates else 0
    return {
        "input_tokens": total,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": total - cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": min(thinking, output)},
        "total_tokens": total + output,
    }


def _diagnostics(seen: Seen) -> Body:
    if not seen.change:
        return {"type": "cache_hit"}
    if seen.change == "unknown":
        return {"type": "comparison_response_not_found"}
    return {"type": "cache_miss", "reason": _COMPARED[seen.change], "cache_missed_tokens": seen.missed}


def _events(head: Body, output: Sequence[Body], whole: Body, ending: str, characters: int) -> Iterator[Event]:
    number = -1

    def event(kind: str, **data: Any) -> Event:
        nonlocal number
        number += 1
        return kind, {"type": kind, **data, "sequence_number": number}

    begun = {**head, "status": "in_progress", "output": [], "usage": None}
    if head.get("background"):
        yield event("response.queued", response={**begun, "status": "queued"})
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(output):
        at: dict[str, Any] = {"output_index": index}
        started = {**item, "status": "in_progress", **_EMPTY[item["type"]]}
        yield event("response.output_item.added", item=started, **at)
        at["item_id"] = item["id"]
        if item["type"] == "message":
            for place, part in enumerate(item["content"]):
                key = "text" if part["type"] == "output_text" else "refusal"
                said = "output_text" if key == "text" else "refusal"
                more: dict[str, Any] = {"logprobs": []} if key == "text" else {}
                inside = {**at, "content_index": place}
                yield event("response.content_part.added", part={**part, key: ""}, **inside)
                for piece in pieces_of(part[key], characters):
                    yield event(f"response.{said}.delta", delta=piece, **inside, **more)
                yield event(f"response.{said}.done", **{key: part[key]}, **inside, **more)
                yield event("response.content_part.done", part=part, **inside)
        elif item["type"] == "reasoning":
            for place, part in enumerate(item["summary"]):
                inside = {**at, "summary_index": place}
                yield event("response.reasoning_summary_part.added", part={**part, "text": ""}, **inside)
                for piece in pieces_of(part["text"], characters):
                    yield event("response.reasoning_summary_text.delta", delta=piece, **inside)
                yield event("response.reasoning_summary_text.done", text=part["text"], **inside)
                yield event("response.reasoning_summary_part.done", part=part, **inside)
        elif item["type"] == "function_call":
            for piece in pieces_of(item["arguments"], characters):
                yield event("response.function_call_arguments.delta", delta=piece, **at)
            yield event("response.function_call_arguments.done", arguments=item["arguments"], name=item["name"], **at)
        else:
            for piece in pieces_of(item["input"], characters):
                yield event("response.custom_tool_call_input.delta", delta=piece, **at)
            yield event("response.custom_tool_call_input.done", input=item["input"], **at)
        yield event("response.output_item.done", item=item, output_index=index)
    yield event(f"response.{ending}", response=whole)
