"""Answering: what the protocols share when they write an answer, and the shape of OpenAI's errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from germane_testing.provider.delivery import Event
from germane_testing.provider.fields import Body
from germane_testing.provider.received import Asked, Received
from germane_testing.provider.replies import Reply

__all__ = ["Answer", "Ids", "OpenAIErrors", "Speaks"]


def _nothing(complete: bool) -> None:
    """Nothing is kept of the answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as one JSON object and as the events of a stream: one of the two is sent.

    `finish` is called when it was sent, with whether all of it was; what the provider holds for later requests changes then.
    """

    whole: Body
    events: Iterable[Event]
    finish: Callable[[bool], None] = _nothing
    held: object = None
    """What the protocol holds of the answer, for what follows on the same connection."""


class Speaks(Protocol):
    """A protocol: it reads a request, and writes replies and errors in its own shapes."""

    def read(self, received: Received, body: Body) -> Asked:
        """Raises `Refused`."""

    def answer(self, asked: Asked, reply: Reply) -> Answer:
        """Raises `Refused` for what the provider holds, such as a thread that another request continues."""

    def error(self, status: int, message: str, code: str = "", details: Body | None = None) -> Body:
        """The body of an error."""

    def error_event(self, status: int, message: str, code: str = "") -> Event:
        """An error within a stream."""

    def unknown_event(self) -> Event:
        """An event of a kind that no client knows."""

    def headers(self) -> list[tuple[str, str]]:
        """Headers of each answer."""


class Ids:
    """Ids in order: the first message is `msg_1`. They are the same in each run."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def __call__(self, prefix: str) -> str:
        self._counts[prefix] += 1
        return f"{prefix}{self._counts[prefix]}"


class OpenAIErrors:
    """The errors and headers of OpenAI's protocols."""

    _ids: Ids

    def error(self, status: int, message: str, code: str = "", details: Body | None = None) -> Body:
        kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}.get(
            status, "server_error" if status >= 500 else "invalid_request_error"
        )
        return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}

    def error_event(self, status: int, message: str, code: str = "") -> Event:
        return "", self.error(status, message, code)

    def unknown_event(self) -> Event:
        return "", {"id": "chatcmpl-0", "object": "chat.completion.weather", "choices": [], "weather": "fair"}

    def headers(self) -> list[tuple[str, str]]:
        return [("x-request-id", self._ids("req_")), ("openai-processing-ms", "1"), ("openai-version", "2020-10-01")]
