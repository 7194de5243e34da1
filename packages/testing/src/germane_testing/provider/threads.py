"""Threads: conversations of the Messages API that the provider holds, so that a client sends its new turn alone.

A thread is created under the id of its first answer and moves on to the id of each answer that continues it. It keeps the
system, the tools and the model that it was created with. A request that continues may not send system or tools again (the SDK
leaves them out) and must name the same model; these two are read from the SDK's code and error texts, not from a provider.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from germane_testing.provider.fields import Body, listed, mapping
from germane_testing.provider.received import Refused

__all__ = ["Thread", "Threads"]

_UNSUPPORTED = ("cache_control", "context_management", "fallbacks")
_HELD = ("system", "tools")


@dataclass(slots=True)
class Thread:
    """What the provider holds under the id of an answer; `messages` end with that answer."""

    model: str
    fixed: Body
    messages: list[Body]
    continued: bool = False
    in_flight: bool = False


@dataclass(slots=True)
class Turn:
    """A request of a thread: its whole body, how many messages of it the provider held, and the thread that it continues."""

    body: Body
    held: int = 0
    thread: Thread | None = None
    keeps: bool = False


@dataclass(slots=True)
class Threads:
    """The threads by the id of their newest answer. `forget` makes the provider lose one."""

    _threads: dict[str, Thread] = field(default_factory=dict)

    def forget(self, id: str | None = None) -> None:
        """Loses the thread whose answer has this id, or all: a request that continues it is answered `thread_not_found`."""
        if id is None:
            self._threads.clear()
        else:
            self._threads.pop(id, None)

    def joined(self, body: Body) -> Turn:
        """Returns the request with what the provider holds in front of it.

        Raises `Refused` with the `error_code` of the SDK: `thread_not_found`, `thread_already_continued`,
        `thread_continue_in_flight`, `thread_fingerprint_mismatch`, `thread_unsupported_request`.
        """
        asked = mapping(body.get("thread"))
        if not asked:
            return Turn(body)
        unsupported = [key for key in _UNSUPPORTED if body.get(key) is not None]
        if unsupported:
            said = f"thread can't be used with {', '.join(unsupported)}"
            raise _refused(400, said, "thread_unsupported_request", {"unsupported": unsupported})
        if asked.get("type") != "continue":
            return Turn(body, keeps=True)
        thread = self._threads.get(str(asked.get("previous_message_id")))
        if thread is None:
            raise _refused(404, "No usable Thread state was found for `previous_message_id`.", "thread_not_found")
        if thread.in_flight:
            raise _refused(400, "Another request is still continuing from this response.", "thread_continue_in_flight")
        if thread.continued:
            raise _refused(400, "This response has already been continued.", "thread_already_continued")
        repeated = [key for key in _HELD if key in body]
        if repeated:
            raise Refused(400, tuple(f"{key}: is held by the thread, leave it out" for key in repeated))
        if body.get("model") != thread.model:
            raise _refused(400, "model: differs from the thread's", "thread_fingerprint_mismatch")
        messages = [*thread.messages, *listed(body.get("messages"))]
        return Turn({**body, **thread.fixed, "messages": messages}, len(thread.messages), thread, keeps=True)

    def begun(self, turn: Turn) -> None:
        if turn.thread is not None:
            turn.thread.in_flight = True

    def ended(self, turn: Turn, id: str, answer: list[Body], complete: bool) -> None:
        """Keeps the conversation with its answer under the answer's id, if all of the answer was sent."""
        if turn.thread is not None:
            turn.thread.in_flight = False
            turn.thread.continued = complete
        if turn.keeps and complete:
            fixed = {key: turn.body[key] for key in _HELD if key in turn.body}
            messages = [*listed(turn.body.get("messages")), {"role": "assistant", "content": answer}]
            self._threads[id] = Thread(str(turn.body.get("model")), fixed, messages)


def _refused(status: int, message: str, code: str, more: Body | None = None) -> Refused:
    return Refused(status, (message,), details={"error_code": code, **(more or {})})
