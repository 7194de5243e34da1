"""Failure: an exception as type and source line, without its message, which may quote content or a key."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import PurePath
from types import FrameType, TracebackType

__all__ = ["Failure", "places"]

_MAX_PLACES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """`error` is the type's name, `place` where it was raised, `stack` the frames (`file.py:line`, innermost first) and `cause`
    the type of the exception that led to it."""

    error: str
    place: str = ""
    stack: tuple[str, ...] = ()
    cause: str = ""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        cause = error.__cause__ or error.__context__
        stack = places(error.__traceback__)
        return cls(
            error=type(error).__name__,
            place=stack[0] if stack else "",
            stack=stack,
            cause=type(cause).__name__ if cause is not None else "",
        )


def places(of: TracebackType | FrameType | None) -> tuple[str, ...]:
    """The frames of a stack or traceback as `folder/file.py:line`, innermost first, at most 12."""
    if of is None:
        return ()
    frames = traceback.walk_stack(of) if isinstance(of, FrameType) else reversed(list(traceback.walk_tb(of)))
    found = [f"{_short(frame.f_code.co_filename)}:{line}" for frame, line in frames]
    return tuple(found[:_MAX_PLACES])


def _short(file: str) -> str:
    """The last two parts of the path: a whole path could name a machine or its owner."""
    return "/".join(PurePath(file).parts[-2:]).replace("<", "").replace(">", "")
