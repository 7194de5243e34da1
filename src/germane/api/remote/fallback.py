"""Fallback: turns any failure of a client's `assemble` into the caller's own messages; owns time limits and breaker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from germane.api.remote.answer import Answer, ClientMetadata
from germane.errors import InvalidInput
from germane.types.checks import check_answer_time, check_number
from germane.types.message import system_text
from germane.types.model_names import ModelNames

_LOG = logging.getLogger("germane.client")
_MAX_LOGGED_REASONS = 64
CALLER_ERRORS = ("INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED")
"""Refusals of the service that the caller can end."""


class Fallback(Exception):
    """There is no answer from the service. The text becomes the answer's `fallback_reason`: `client_error:<what>` for a failure
    inside the client, such as `grpc_error:<CODE>` for one of the service or on the way to it. `hint` says what the caller can
    do."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


class FallbackPolicy:
    """The time limits, the circuit breaker and the fallback answers of one client. Thread-safe.

    `limit` bounds a call of `assemble`, `patience` any other call, both in seconds. The breaker opens after `breaker` calls in
    a row that hung (0: never), for `cooldown` seconds.
    """

    def __init__(self, *, limit: float, patience: float, breaker: int, cooldown: float) -> None:
        """Raises `InvalidInput` for a number that is negative, infinite or of another type, and for a limit that is 0 or looks
        like milliseconds."""
        check_answer_time("limit", limit)
        self.limit = limit
        self.patience = check_number("patience", patience, above=True)
        self._cooldown = Cooldown(after=int(check_number("breaker", breaker)), seconds=check_number("cooldown", cooldown))
        self._logged: set[str] = set()

    def remaining(self, started: float, now: float, lateness: float = 0.0) -> float:
        """Returns the seconds of `limit` that are left. Raises `Fallback` when none are.

        `lateness` is by how many seconds the caller's timer goes off late. It is subtracted, up to a tenth of the limit.
        """
        remaining = self.limit - min(lateness, self.limit / 10) - (now - started)
        if remaining <= 0:
            raise Fallback("client_error:out_of_time")
        return remaining

    @contextmanager
    def attempt(self, now: Callable[[], float]) -> Iterator[None]:
        """Surrounds one call and reports its outcome to the breaker. Raises `Fallback` at once while the breaker is open."""
        cooldown = self._cooldown
        if not cooldown.allows(now()):
            raise Fallback("client_breaker_open")
        try:
            yield
        except Fallback as error:
            where, _, what = str(error).partition(":")
            if where == "client_error":
                cooldown.release()
            elif what == "DEADLINE_EXCEEDED":
                cooldown.hung(now())
            else:
                cooldown.answered()
            raise
        except BaseException:
            cooldown.release()
            raise
        cooldown.answered()

    def fallback(self, messages: Any, error: Exception, request_id: object, system: Any = None) -> Answer:
        """Returns the caller's messages and system prompt with the reason of the failure. Logs each reason once."""
        reason = str(error) if isinstance(error, Fallback) else f"client_error:{type(error).__name__}"
        if reason not in self._logged and len(self._logged) < _MAX_LOGGED_REASONS:
            self._logged.add(reason)
            with suppress(Exception):  # a log handler of the application may raise
                hint = f": {said}" if (said := _hint(error)) else ""
                _LOG.warning("germane gives messages back as they came: %s%s (said once)", reason, hint)
        id = request_id if isinstance(request_id, str) else ""
        metadata = ClientMetadata(fallback_reason=reason, degradation_level=3, request_id=id)
        return Answer(messages=messages, system=system, metadata=metadata)


def shallow_copy(messages: Any) -> Any:
    """Returns a new list of the same objects, so that a later change of one list doesn't change the other. Returns a value that
    is no sequence, or is text, as it is."""
    return list(messages) if isinstance(messages, Sequence) and not isinstance(messages, str | bytes) else messages


def own_messages(messages: Any, system: Any, provider: str) -> tuple[Any, Any]:
    """Returns the caller's messages, as a new list of the same objects, and the system prompt beside them. For OpenAI, which
    has no other place for a system prompt, it becomes the first message."""
    messages = shallow_copy(messages)
    if isinstance(messages, list) and provider == "openai" and (said := system_text(system)).strip():
        return [{"role": "system", "content": said}, *messages], None
    return messages, system


def _hint(error: Exception) -> str:
    """What the caller can do, where the error may be the caller's. Such texts hold no content of messages."""
    return str(error) if isinstance(error, InvalidInput) else error.hint if isinstance(error, Fallback) else ""


# The circuit breaker. Without it every call would wait until its limit while the server hangs. It counts only calls
# that got no reply at all: a server that is down refuses the connection in well under a millisecond, so such calls need
# no breaker.


class Cooldown:
    """A circuit breaker: after `after` calls in a row that hung, no call is allowed for `seconds`.

    After that time one call is allowed as a probe; the others stay refused until its outcome is reported. `after` 0 switches
    the breaker off. Times are seconds of one monotonic clock, which the caller reads. Thread-safe.

    The caller reports each call that `allows` let through exactly once, by `answered`, `hung` or `release`.
    """

    def __init__(self, after: int = 5, seconds: float = 1.0) -> None:
        self._after, self._seconds = after, seconds
        self._in_a_row = 0
        self._until: float | None = None
        self._probing = False
        self._lock = Lock()

    def allows(self, now: float) -> bool:
        """Returns whether a call may be made now. After the cooldown the first caller gets True and makes the probe."""
        with self._lock:
            if self._until is None:
                return True
            if self._probing or now < self._until:
                return False
            self._probing = True
            return True

    def answered(self) -> None:
        """Reports a call that got a reply, an error included. Closes the breaker."""
        with self._lock:
            self._in_a_row, self._until, self._probing = 0, None, False

    def hung(self, now: float) -> None:
        """Reports a call that got no reply. Opens the breaker when it is the last of `after` in a row."""
        with self._lock:
            self._in_a_row += 1
            self._probing = False
            if self._after and self._in_a_row >= self._after:
                self._until = now + self._seconds

    def release(self) -> None:
        """Reports a call that says nothing about the server: the caller cancelled it, or it was never sent."""
        with self._lock:
            self._probing = False


# The shape of messages for a caller that names no provider: that of the model's own provider, as in the library. The
# client has no catalog of models; the names of three families tell.


_FAMILIES = ModelNames({"claude": "anthropic", "gemini": "gemini", "gemma": "gemini"})
"""The families of the catalog whose providers don't take OpenAI's messages; a test compares all names of the catalog."""


def model_provider(model: object, like: object = None) -> str:
    """Returns openai, anthropic or gemini; openai for a model of none of the families, and for what is no name. `like` is the
    model that `model` is treated like, where it isn't None."""
    named = model if like is None else like
    return (_FAMILIES.find(named) if isinstance(named, str) else None) or "openai"
