"""Gemini: Google's `generateContent` and `streamGenerateContent`, and what they refuse."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from germane_testing.provider.answering import Answer, Ids
from germane_testing.provider.chat import text_of
from germane_testing.provider.delivery import Event, pieces_of
from germane_testing.provider.fields import Body, fields_of, listed, mapping, words
from germane_testing.provider.prompt_cache import BYTES_PER_TOKEN, Prompt, PromptCache
from germane_testing.provider.received import Asked, OfferedTool, Received, Refused
from germane_testing.provider.replies import Refusal, Reply, Text, Thinking, ToolCall

__all__ = ["THOUGHT_SIGNATURE", "Gemini", "gemini_refuses"]

THOUGHT_SIGNATURE = base64.b64encode(b"thought \xff").decode()
"""The signature that calls behind thinking carry; it holds a byte that is no text."""
_OPTIONS = frozenset(
    {"systemInstruction", "generationConfig", "tools", "toolConfig", "safetySettings", "cachedContent", "labels"}
)
_DATA = words("text functionCall functionResponse inlineData fileData executableCode codeExecutionResult")
_REASONS = {"end": "STOP", "tools": "STOP", "refusal": "SAFETY", "length": "MAX_TOKENS", "filter": "SAFETY"}
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
}


def gemini_refuses(body: Body) -> Iterator[str]:
    """The generateContent API: roles in turn, one thing in a part, and each call with its response in the next turn."""
    yield from fields_of("body", body, {"contents"}, _OPTIONS)
    system = body.get("systemInstruction")
    if system is not None and not all(part.get("text") for part in listed(mapping(system).get("parts")) or [{}]):
        yield "systemInstruction without text"
    waiting: list[object] = []
    before = ""
    for index, turn in enumerate(listed(body.get("contents")) or [{}]):
        where, role = f"contents[{index}]", turn.get("role")
        yield from fields_of(where, turn, {"role", "parts"}, ())
        if role not in ("user", "model") or role == before or (not index and role != "user"):
            yield f"{where}: role {role!r} after {before!r}"
        before = str(role)
        parts = listed(turn.get("parts"))
        for part in parts or [{}]:
            held = part.keys() & _DATA
            if len(held) != 1 or part.get("text") == "":
                yield f"{where}: a part must hold one thing, not {sorted(part)}"
            yield from fields_of(where, part, held, {"thoughtSignature", "thought", "videoMetadata"})
        answers = [mapping(part["functionResponse"]).get("name") for part in parts if "functionResponse" in part]
        if answers != waiting:
            yield f"{where}: responses {answers} for calls {waiting}"
        waiting = [mapping(part["functionCall"]).get("name") for part in parts if "functionCall" in part]


class Gemini:
    """Answers requests whose path ends with `:generateContent` or `:streamGenerateContent`."""

    def __init__(self, ids: Ids, cache: PromptCache, *, strict: bool) -> None:
        self._ids, self._cache, self._strict = ids, cache, strict

    def read(self, received: Received, body: Body) -> Asked:
        """Raises `Refused`."""
        reasons = tuple(gemini_refuses(body)) if self._strict else ()
        if reasons:
            raise Refused(400, reasons)
        turns = listed(body.get("contents"))
        parts = [(index, part) for index, turn in enumerate(turns) for part in listed(turn.get("parts"))]
        users = [index for index, part in parts if "text" in part and turns[index].get("role") == "user"]
        results = [index for index, part in parts if "functionResponse" in part]
        model = received.path.rpartition("/")[2].partition(":")[0]
        calling = mapping(mapping(body.get("toolConfig")).get("functionCallingConfig"))
        return Asked(
            received=received,
            protocol="gemini",
            model=model,
            body=body,
            text=text_of(turns[users[-1]].get("parts")) if users else "",
            tools=() if calling.get("mode") == "NONE" else tuple(_tools(body)),
            forced=_forced(calling),
            has_results=bool(results),
            answers_tools=bool(results) and results[-1] > (users[-1] if users else -1),
            streams=received.path.endswith(":streamGenerateContent"),
        )

    def answer(self, asked: Asked, reply: Reply) -> Answer:
        body, id = asked.body, self._ids("gemini_")
        prompt = Prompt(asked.model, body.get("tools"), body.get("systemInstruction"), listed(body.get("contents")))
        seen, given = self._cache.read(prompt, id), reply.usage
        written = -(-reply.size // BYTES_PER_TOKEN)
        total, cached, output = (given.input, given.cached, given.output) if given else (seen.tokens, seen.cached, written)
        counts = {"promptTokenCount": total, "cachedContentTokenCount": cached, "candidatesTokenCount": output}
        head: Body = {"modelVersion": reply.model or asked.model, "responseId": id}
        head["usageMetadata"] = {**counts, "totalTokenCount": total + output}
        parts, reason = list(_parts(reply)), _REASONS[reply.stop]
        whole = {**head, "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}]}
        return Answer(whole, _events(head, parts, reason, reply.delivery.characters))

    def error(self, status: int, message: str, code: str = "", details: Body | None = None) -> Body:
        named = _STATUSES.get(status, "UNAVAILABLE" if status >= 500 else "FAILED_PRECONDITION")
        return {"error": {"code": status, "status": code or named, "message": message}}

    def error_event(self, status: int, message: str, code: str = "") -> Event:
        return "", self.error(status, message, code)

    def unknown_event(self) -> Event:
        return "", {"weather": "fair"}

    def headers(self) -> list[tuple[str, str]]:
        return []


def _forced(calling: Body) -> str | None:
    names = calling.get("allowedFunctionNames")
    if calling.get("mode") != "ANY":
        return None
    return str(names[0]) if isinstance(names, list) and names else ""


def _tools(body: Body) -> Iterator[OfferedTool]:
    for group in listed(body.get("tools")):
        for tool in listed(group.get("functionDeclarations")):
            schema = tool.get("parameters") or tool.get("parametersJsonSchema")
            yield OfferedTool(str(tool.get("name")), mapping(schema))


def _parts(reply: Reply) -> Iterator[Body]:
    signs = any(isinstance(part, Thinking) for part in reply.parts)
    for part in reply.parts:
        match part:
            case Text(text) | Refusal(text):
                yield {"text": text}
            case ToolCall():
                arguments = {} if isinstance(part.arguments, str) else dict(part.arguments)
                yield {"functionCall": {"name": part.name, "args": arguments}} | (
                    {"thoughtSignature": THOUGHT_SIGNATURE} if signs else {}
                )
            case Thinking():
                """The signature of what follows tells of it."""


def _events(head: Body, parts: list[Body], reason: str, characters: int) -> Iterator[Event]:
    pieces = [{**part, "text": text} for part in parts if "text" in part for text in pieces_of(part["text"], characters)]
    pieces += [part for part in parts if "text" not in part]
    for number, piece in enumerate(pieces):
        candidate: Body = {"content": {"role": "model", "parts": [piece]}, "index": 0}
        if number == len(pieces) - 1:
            candidate["finishReason"] = reason
        yield "", {**head, "candidates": [candidate]}
