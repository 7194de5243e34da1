"""Failure: an exception as its type and its place. What it says is never part of it: that may quote content, or a key."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import PurePath
from types import FrameType, TracebackType

__all__ = ["Failure", "places"]

_DEEPEST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`at` is where it was raised, `stack` the way there (`file.py:line`, innermost first), `cause` the type before it."""

    error: str
    at: str = ""
    stack: tuple[str, ...] = ()
    cause: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        cause = error.__cause__ or error.__context__
        stack = places(error.__traceback__)
        return cls(
            error=type(error).__name__,
            at=stack[0] if stack else "",
            stack=stack,
            cause=type(cause).__name__ if cause is not None else "",
        )


def places(of: TracebackType | FrameType | None) -> tuple[str, ...]:
    """`file.py:line` of a stack or a traceback, innermost first, at most 12 of them; the file as its last two parts."""
    if of is None:
        return ()
    walked = traceback.walk_stack(of) if isinstance(of, FrameType) else reversed(list(traceback.walk_tb(of)))
    found = [f"{_short(frame.f_code.co_filename)}:{line}" for frame, line in walked]
    return tuple(found[:_DEEPEST])


def _short(file: str) -> str:
    """Not the whole path: that says where on a machine it lies, and maybe whose it is."""
    return "/".join(PurePath(file).parts[-2:]).replace("<", "").replace(">", "")
