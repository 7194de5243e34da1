"""Chat completions: OpenAI's protocol of messages and choices, as JSON and as a stream of chunks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from germane_testing.provider.answering import Answer, Ids, OpenAIErrors
from germane_testing.provider.delivery import Event, pieces_of
from germane_testing.provider.fields import Body, listed, mapping
from germane_testing.provider.openai_rules import MAX_CHOICES, chat_refuses
from germane_testing.provider.prompt_cache import BYTES_PER_TOKEN, Prompt, PromptCache
from germane_testing.provider.received import Asked, OfferedTool, Received, Refused
from germane_testing.provider.replies import Refusal, Reply, Text, ToolCall

__all__ = ["ChatCompletions", "text_of"]

_REASONS = {"end": "stop", "tools": "tool_calls", "refusal": "stop", "length": "length", "filter": "content_filter"}


class ChatCompletions(OpenAIErrors):
    """Answers requests of the path `/chat/completions`."""

    def __init__(self, ids: Ids, cache: PromptCache, *, strict: bool) -> None:
        self._ids, self._cache, self._strict = ids, cache, strict

    def read(self, received: Received, body: Body) -> Asked:
        """Raises `Refused`."""
        reasons = tuple(chat_refuses(body)) if self._strict else ()
        if reasons:
            raise Refused(400, reasons)
        messages = listed(body.get("messages"))
        users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
        results = [index for index, message in enumerate(messages) if message.get("role") == "tool"]
        return Asked(
            received=received,
            protocol="chat",
            model=str(body.get("model")),
            body=body,
            text=text_of(messages[users[-1]].get("content")) if users else "",
            tools=() if body.get("tool_choice") == "none" else tuple(_tools(body)),
            forced=forced_tool(body.get("tool_choice")),
            has_results=bool(results),
            answers_tools=bool(results) and results[-1] > (users[-1] if users else -1),
            streams=bool(body.get("stream")),
        )

    def answer(self, asked: Asked, reply: Reply) -> Answer:
        body, id = asked.body, self._ids("chatcmpl-")
        seen = self._cache.read(Prompt(asked.model, body.get("tools"), None, listed(body.get("messages"))), id)
        given_count = body.get("n")
        count = min(given_count, MAX_CHOICES) if isinstance(given_count, int) else 1
        replies = [reply, *reply.others][:count]
        replies += [reply] * (count - len(replies))
        written = sum(-(-one.size // BYTES_PER_TOKEN) for one in replies)
        given = reply.usage
        total, cached, output = (given.input, given.cached, given.output) if given else (seen.tokens, seen.cached, written)
        usage = {
            "prompt_tokens": total,
            "completion_tokens": output,
            "total_tokens": total + output,
            "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
        }
        head = {"id": id, "created": 1_700_000_000, "model": reply.model or asked.model, "service_tier": "default"}
        custom = {tool.name for tool in asked.tools if tool.custom}
        messages = [_message(one, self._ids, custom) for one in replies]
        choices = [
            {"index": index, "message": message, "logprobs": None, "finish_reason": _REASONS[one.stop]}
            for index, (one, message) in enumerate(zip(replies, messages, strict=True))
        ]
        whole = {**head, "object": "chat.completion", "choices": choices, "usage": usage}
        return Answer(whole, _chunks(head, choices, usage, body, reply.delivery.characters))


def _tools(body: Body) -> Iterator[OfferedTool]:
    for tool in listed(body.get("tools")):
        custom = tool.get("type") == "custom"
        described = mapping(tool.get("custom" if custom else "function"))
        yield OfferedTool(str(described.get("name")), mapping(described.get("parameters")), custom)


def forced_tool(choice: object) -> str | None:
    """The tool that OpenAI's `tool_choice` forces: its name, "" for any, None for none."""
    if choice == "required":
        return ""
    given = mapping(choice)
    if given.get("type") not in ("function", "custom"):
        return None
    return str(given.get("name") or mapping(given.get(given["type"])).get("name") or "")


def text_of(content: object) -> str:
    """The text of a content: a text, or the texts of its parts, one below the other."""
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in listed(content) if "text" in part)


def _message(reply: Reply, ids: Ids, custom: Collection[str]) -> Body:
    text = "".join(part.text for part in reply.parts if isinstance(part, Text))
    refusal = "".join(part.text for part in reply.parts if isinstance(part, Refusal))
    calls = [part for part in reply.parts if isinstance(part, ToolCall)]
    message: Body = {"role": "assistant", "content": text or (None if calls or refusal else ""), "refusal": refusal or None}
    message["annotations"] = []
    if calls:
        message["tool_calls"] = [_call(call, ids, custom) for call in calls]
    return message


def _call(call: ToolCall, ids: Ids, custom: Collection[str]) -> Body:
    id = call.id or ids("call_")
    if call.name in custom:
        return {"id": id, "type": "custom", "custom": {"name": call.name, "input": call.written}}
    return {"id": id, "type": "function", "function": {"name": call.name, "arguments": call.written}}


def _chunks(head: Body, choices: Sequence[Body], usage: Body, body: Body, characters: int) -> Iterator[Event]:
    counted = bool(mapping(body.get("stream_options")).get("include_usage"))
    fixed = {**head, "object": "chat.completion.chunk", **({"usage": None} if counted else {})}

    def chunk(index: int, delta: Body, reason: str | None = None) -> Event:
        return "", {**fixed, "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}]}

    for choice in choices:
        index, message = choice["index"], choice["message"]
        yield chunk(index, {"role": "assistant", "content": "" if message["content"] is not None else None, "refusal": None})
        for key in ("content", "refusal"):
            yield from (chunk(index, {key: piece}) for piece in pieces_of(message[key] or "", characters) if piece)
        for number, call in enumerate(message.get("tool_calls") or ()):
            kind = call["type"]
            key = "arguments" if kind == "function" else "input"
            yield chunk(index, {"tool_calls": [{"index": number, **call, kind: {**call[kind], key: ""}}]})
            for piece in pieces_of(call[kind][key], characters):
                yield chunk(index, {"tool_calls": [{"index": number, kind: {key: piece}}]})
        yield chunk(index, {}, choice["finish_reason"])
    if counted:
        yield "", {**fixed, "choices": [], "usage": usage}
    yield "", "[DONE]"
