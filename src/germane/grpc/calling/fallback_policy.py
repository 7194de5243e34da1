"""Care: what both clients do so that no call of `assemble` hurts its caller: the reason that goes with the messages when they
go back as they came, said once in the log, and the server that hangs left alone.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from germane.errors import InvalidInput
from germane.grpc.calling.answer import Answer, Metadata
from germane.grpc.calling.channel import grpc
from germane.grpc.calling.cooldown import Cooldown
from germane.grpc.calling.outbound import Oversized
from germane.grpc.calling.verify_reply import Altered

__all__ = ["Fallback", "FallbackPolicy", "originals"]

_LOG = logging.getLogger("germane.client")
_MOST_SAID = 64
_THE_CALLERS = ("INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED")


class Fallback(Exception):
    """Why there is no answer: what stands in `fallback_reason`."""


class FallbackPolicy:
    """`limit` is how long a caller of `assemble` waits, `patience` one of anything else, both in seconds. For any number of
    threads."""

    def __init__(self, *, limit: float, patience: float, breaker: int, cooldown: float) -> None:
        """Raises `InvalidInput` for a number that can't be used."""
        self.limit = _number("limit", limit, above=0.0)
        self.patience = _number("patience", patience, above=0.0)
        self._cooldown = Cooldown(after=int(_number("breaker", breaker)), seconds=_number("cooldown", cooldown))
        self._said: set[str] = set()

    def left(self, began: float, now: float, late: float = 0.0) -> float:
        """What of the limit is left after the request was written. Raises `Fallback` when nothing is. `late` is how much later
        than told a timer goes off; of a short limit it takes a tenth at most."""
        left = self.limit - min(late, self.limit / 10) - (now - began)
        if left <= 0:
            raise Fallback("client_error:out_of_time")
        return left

    @contextmanager
    def watching(self, now: Callable[[], float]) -> Iterator[None]:
        """Around one call: from how it ends it is learnt whether the server hangs. Raises `Fallback` at once while it is left
        alone."""
        cooldown = self._cooldown
        if not cooldown.allows(now()):
            raise Fallback("client_breaker_open")
        try:
            yield
        except (grpc.RpcError, Fallback) as error:
            if (reason := _reason(error)) == "grpc_error:DEADLINE_EXCEEDED":
                cooldown.hung(now())
            elif reason.startswith("grpc_error:"):
                cooldown.answered()
            else:
                cooldown.release()
            raise
        except BaseException:
            cooldown.release()
            raise
        cooldown.answered()

    def fallback(self, messages: Any, error: Exception, request_id: object) -> Answer:
        """The caller's messages and the reason. Logs a reason when it is first met."""
        reason = _reason(error)
        if reason not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(reason)
            with suppress(Exception):  # not even what somebody hung into the log
                _LOG.warning("germane gives messages back as they came: %s%s (said once)", reason, _why(error))
        id = request_id if isinstance(request_id, str) else ""
        return Answer(messages=messages, metadata=Metadata(fallback_reason=reason, degradation_level=3, request_id=id))


def originals(messages: Any) -> Any:
    """The very objects in a list of its own, so that whoever changes the one doesn't change the other. What isn't a list comes
    back as it is."""
    return list(messages) if isinstance(messages, Sequence) and not isinstance(messages, str | bytes) else messages


def _reason(error: BaseException) -> str:
    match error:
        case Fallback():
            return str(error)
        case grpc.RpcError():
            code = error.code() if callable(getattr(error, "code", None)) else None
            return f"grpc_error:{getattr(code, 'name', 'UNKNOWN')}"
        case Altered():
            return "client_error:altered"
        case Oversized():
            return "client_error:oversized"
    return f"client_error:{type(error).__name__}"


def _why(error: Exception) -> str:
    """What helps to put it right, where that is the caller's to do. No content: neither side puts any into such a text."""
    if isinstance(error, InvalidInput):
        return f": {error}"
    if isinstance(error, grpc.RpcError) and _reason(error).endswith(_THE_CALLERS):
        return f": {str(error.details())[:200]!r}"
    return ""


def _number(name: str, value: object, *, above: float = -1.0) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value or math.isinf(value):
        raise InvalidInput(f"{name} must be a number {'above 0' if above == 0 else 'of 0 or more'}, not {value!r}")
    return value
