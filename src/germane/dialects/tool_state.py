"""Tool state: tells pending and interim tool results from final ones, and finds what waits for a confirmation (HIST-5).

The words are those of OpenAI's items (`status`), Gemini's function responses (`willContinue`), MCP's and A2A's tasks, Google's
ADK, the AI SDK's tool parts and common job queues. A result that says nothing of itself is final.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from germane.dialects.fields import mapping
from germane.types.message import Message, Opaque, ToolCall, ToolResult

ResultState = Literal["pending", "interim", "final"]

_CONFIRMING = frozenset(
    {
        "approval_requested",
        "auth_required",
        "awaiting_approval",
        "awaiting_confirmation",
        "awaiting_input",
        "awaiting_user",
        "confirmation_required",
        "input_required",
        "needs_approval",
        "needs_confirmation",
        "pending_approval",
        "pending_confirmation",
        "requires_action",
        "requires_approval",
        "requires_confirmation",
        "waiting_for_approval",
        "waiting_for_confirmation",
        "waiting_for_input",
    }
)
_PENDING = _CONFIRMING | {"deferred", "enqueued", "pending", "queued", "submitted", "waiting"}
_INTERIM = frozenset(
    {"executing", "generating", "in_progress", "ongoing", "preliminary", "processing", "running", "streaming", "working"}
)
_STATES = ("status", "state")
_JOBS = ("task_id", "taskid", "job_id", "jobid", "ticket_id", "ticketid", "run_id", "runid", "operation_id", "operationid")
_HOLDERS = ("task", "job", "operation", "run")
"""Keys under which a result holds the job that it tells of, such as MCP's `task`."""
_READ_CHARACTERS = 4_000
"""A longer result is no mere note about a job."""
_UNFINISHED = ("in_progress", "calling", "generating", "searching", "interpreting")


def result_state(part: ToolResult, raw: Mapping[str, Any] | Message) -> ResultState:
    """Returns whether the result, which `raw` holds, is what the call came to. `pending` tells that the work waits to begin or
    for a person; `interim` that it goes on and more will come. What can't be told is final."""
    return _state(part, raw, _told(part.text))


def _state(part: ToolResult, raw: Mapping[str, Any] | Message, told: Mapping[str, Any]) -> ResultState:
    if not isinstance(raw, Message):
        if raw.get("status") == "in_progress" and str(raw.get("type")).endswith("_output"):
            return "interim"
        if _continues(part, raw):
            return "interim"
    if not told:
        return "final"
    if told.get("preliminary") is True or told.get("willcontinue") is True or told.get("will_continue") is True:
        return "interim"
    words = [_word(holder.get(key)) for holder in _holders(told) for key in _STATES]
    if any(word in _PENDING for word in words):
        return "pending"
    return "interim" if any(word in _INTERIM for word in words) else "final"


def waits_for_confirmation(message: Message) -> bool:
    """Returns whether the message asks for a confirmation that only a later one can give: it holds an approval request, or a
    result that says it waits for a person. An answer elsewhere isn't looked for: see `unsettled`."""
    return any(
        (isinstance(part, Opaque) and part.raw.get("type") == "mcp_approval_request")
        or (isinstance(part, ToolResult) and _confirming(part))
        for part in message.parts
    )


def unsettled(messages: Sequence[Message], raws: Sequence[Mapping[str, Any] | Message]) -> frozenset[int]:
    """Returns the indexes of the messages with an approval request that nothing answers, a provider's own call that hasn't
    ended, or a pending or interim result that no later result of the same call or job ends."""
    waiting = Unsettled()
    for index, (message, raw) in enumerate(zip(messages, raws, strict=True)):
        waiting.add(index, message, raw)
    return frozenset(waiting.indexes)


class Unsettled:
    """Mutable. As `unsettled`, for a conversation that grows: each message costs the same however many came before."""

    __slots__ = ("_keys", "_together", "indexes")

    def __init__(self) -> None:
        self.indexes: dict[int, int] = {}
        """By the index of a message, how many keys of it haven't ended."""
        self._keys: dict[str, set[int]] = {}
        self._together: dict[str, tuple[str, ...]] = {}
        """The keys that were given together."""

    def add(self, index: int, message: Message, raw: Mapping[str, Any] | Message) -> None:
        """Reads the message with this index, which is higher than any before."""
        for part in message.parts:
            if isinstance(part, ToolResult):
                told = _told(part.text)
                keys = [f"call {part.call_id}"] if part.call_id else []
                keys += (f"job {job}" for job in _jobs(told)) if told else ()
                self._end(keys)
                if _state(part, raw, told) != "final":
                    self._begin(keys or [f"message {index}"], index)
            elif isinstance(part, ToolCall) and part.id:
                self._end([f"call {part.id}"])  # the id is used again: the earlier call is over
            elif isinstance(part, Opaque):
                self._opaque(part.raw, index)

    def _begin(self, keys: Sequence[str], index: int) -> None:
        for key in dict.fromkeys(keys):
            known = self._keys.setdefault(key, set())
            if index not in known:
                known.add(index)
                self.indexes[index] = self.indexes.get(index, 0) + 1
            self._together[key] = tuple(keys)

    def _end(self, keys: Sequence[str]) -> None:
        for key in keys:
            for other in self._together.pop(key, ()):
                for index in self._keys.pop(other, ()):
                    self.indexes[index] -= 1
                    if not self.indexes[index]:
                        del self.indexes[index]

    def _opaque(self, raw: Mapping[str, Any], index: int) -> None:
        kind, id = str(raw.get("type")), raw.get("id")
        if kind == "mcp_approval_request" and isinstance(id, str):
            self._begin([f"approval {id}"], index)
        elif kind in ("mcp_approval_response", "mcp_call") and raw.get("approval_request_id"):
            self._end([f"approval {raw['approval_request_id']}"])
        elif kind in ("server_tool_use", "mcp_tool_use") and isinstance(id, str):
            self._begin([f"server {id}"], index)
        elif kind.endswith("_tool_result") and isinstance(raw.get("tool_use_id"), str):
            self._end([f"server {raw['tool_use_id']}"])
        if kind.endswith("_call") and raw.get("status") in _UNFINISHED:
            self._begin([f"message {index}"], index)


def _confirming(part: ToolResult) -> bool:
    told = _told(part.text)
    return any(_word(holder.get(key)) in _CONFIRMING for holder in _holders(told) for key in _STATES)


def _continues(part: ToolResult, raw: Mapping[str, Any]) -> bool:
    """Returns whether one of Gemini's function responses says that more will come, and is the one that was read as `part`."""
    parts = raw.get("parts")
    if not isinstance(parts, list | tuple):
        return False
    for each in parts:
        fields = mapping(each) or {}
        answer = mapping(fields.get("functionResponse") or fields.get("function_response"))
        if answer is None or answer.get("willContinue", answer.get("will_continue")) is not True:
            continue
        if (answer.get("id") or "") == part.call_id and (answer.get("name") or "") == part.name:
            return True
    return False


def _told(text: str) -> Mapping[str, Any]:
    """Returns the JSON object that the result is, by its keys in lower case; empty for another result."""
    if len(text) > _READ_CHARACTERS or not text.lstrip().startswith("{"):
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {key.lower().replace("-", "_"): each for key, each in value.items()} if isinstance(value, dict) else {}


def _holders(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield told
    for key in _HOLDERS:
        if isinstance(inner := told.get(key), Mapping):
            yield {name.lower().replace("-", "_"): value for name, value in inner.items()}


def _jobs(told: Mapping[str, Any]) -> Iterator[str]:
    for holder in _holders(told):
        yield from (str(holder[key]) for key in _JOBS if isinstance(holder.get(key), str | int))


def _word(value: object) -> str:
    """A state as one word: `In Progress`, `in-progress` and MCP's `input_required` are spelled alike. A2A holds it deeper."""
    inner = mapping(value)
    value = inner.get("state") if inner is not None else value
    return value.strip().lower().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
