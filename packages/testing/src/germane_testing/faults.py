"""Faults: `faulty` wraps any object so that its methods hang, answer late, raise, or return garbage.

    source = faulty(source, Hang())                        # every async method
    embedder = faulty(embedder, Slow(0.05), "embed")       # one of them
    store = faulty(store, Raise(OSError), times=2)         # the first two calls only

For a type checker the wrapper has the type of the wrapped object. Under `time_warp` neither `Hang` nor `Slow` takes real time.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hang:
    """The method never returns."""


@dataclass(frozen=True, slots=True)
class Slow:
    """The method returns its right result, but `seconds` late."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Raise:
    """The method raises `error`, an exception or a type of exception."""

    error: BaseException | type[BaseException]


@dataclass(frozen=True, slots=True)
class Garbage:
    """The method returns `answer` instead of its result."""

    answer: object = "garbage"


Fault = Hang | Slow | Raise | Garbage


def faulty(target: T, fault: Fault, *methods: str, times: int | None = None) -> T:
    """Returns a wrapper around `target` with `fault` in its `methods`, given by name; by default in every coroutine method.

    A dot names a method of an attribute (`"memories.get"`); after a coroutine method it names the type of what the method is
    called with (`"ask.StackView"`). A named method may be synchronous: it can raise or return garbage,
    but `Hang` and `Slow` don't affect it, because they would block the thread. With `times` only the first `times` calls fail.
    All other attributes and calls reach `target`.
    """
    return cast("T", _Faulty(target, fault, frozenset(methods), _Countdown(times)))


class _Faulty:
    def __init__(self, target: object, fault: Fault, methods: frozenset[str], countdown: _Countdown) -> None:
        self._target, self._fault, self._methods, self._countdown = target, fault, methods, countdown

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        below = frozenset(method.removeprefix(f"{name}.") for method in self._methods if method.startswith(f"{name}."))
        if below and inspect.iscoroutinefunction(value):
            return self._of_type(value, below)
        if below:
            return _Faulty(value, self._fault, below, self._countdown)
        if name in self._methods if self._methods else inspect.iscoroutinefunction(value):
            return self._waiting(value) if inspect.iscoroutinefunction(value) else self._plain(value)
        return value

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """That of the target, so that `isinstance` finds what the target can do."""
        return type(self._target)

    def __repr__(self) -> str:
        return f"<{self._fault!r} in {self._target!r}>"

    def _waiting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            if self._countdown.over():
                return await method(*args, **kwargs)
            match self._fault:
                case Hang():
                    await asyncio.get_running_loop().create_future()
                case Slow(seconds):
                    await asyncio.sleep(seconds)
                case Raise(error):
                    raise error
                case Garbage(answer):
                    return answer
            return await method(*args, **kwargs)

        return call

    def _of_type(self, method: Callable[..., Any], types: frozenset[str]) -> Callable[..., Any]:
        faulted = self._waiting(method)

        async def call(asked: Any, *args: Any, **kwargs: Any) -> Any:
            return await (faulted if type(asked).__name__ in types else method)(asked, *args, **kwargs)

        return call

    def _plain(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            match self._fault:
                case Raise(error) if not self._countdown.over():
                    raise error
                case Garbage(answer) if not self._countdown.over():
                    return answer
            return method(*args, **kwargs)

        return call


class _Countdown:
    def __init__(self, times: int | None) -> None:
        self._left = times

    def over(self) -> bool:
        """Whether the faults are used up; otherwise uses one up."""
        if self._left is None:
            return False
        self._left -= 1
        return self._left < 0
