"""Checks: the checks of single arguments, with one wording of each rule; every module that checks an argument uses them.

Each check takes the argument's path, as the caller names it, and the value. It returns the value, and raises `InvalidInput`
with that path where the value can't be used. How much is allowed is in `limits.py`. The checks of sizes read them with `len`,
which takes constant time; `nested_data.py` measures nested data. The checks of two single arguments are here too: the seconds
until an answer is due, which refuses what looks like milliseconds, and the task of a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice
from math import inf
from typing import Any, TypeVar

from germane.errors import InvalidInput
from germane.types.limits import DIGITS, ID, Limit

T = TypeVar("T")


def check_type(path: str, value: object, kind: type[T] | tuple[type[T], ...], said: str) -> T:
    """Returns `value`, an instance of `kind`; `said` names the kind in the error: "a datetime". Raises `InvalidInput`."""
    if not isinstance(value, kind):
        raise InvalidInput(f"must be {said}, not {type(value).__name__}", path=path)
    return value


def check_moment(path: str, value: object) -> datetime:
    """Returns `value`, a datetime with or without a zone. Raises `InvalidInput`."""
    return check_type(path, value, datetime, "a datetime")


def check_table(path: str, value: object, said: str = "a table") -> Mapping[str, Any]:
    """Returns `value`, a mapping whose keys are all strings. `said` is the caller's word for it, such as "an object". Raises
    `InvalidInput`."""
    table: Mapping[str, Any] = check_type(path, value, Mapping, said)
    for key in table:
        if not isinstance(key, str):
            raise InvalidInput(f"must have strings as its keys, not {type(key).__name__}", path=path)
    return table


def check_flag(path: str, value: object) -> bool:
    """Returns `value`, True or False. Raises `InvalidInput`, also for other truthy values."""
    if not isinstance(value, bool):
        raise InvalidInput("must be true or false, not {}", value, path=path)
    return value


def check_flags(**given: object) -> None:
    """Checks that each argument is True or False. Raises `InvalidInput`."""
    for name, value in given.items():
        check_flag(name, value)


def check_whole_number(path: str, value: object, low: int = 0, high: int | None = None) -> int:
    """Returns `value`, a whole number within the bounds, both included. Raises `InvalidInput`, also for True and for 3.0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low or (high is not None and value > high):
        raise InvalidInput(f"must be a whole number{_within(low, high)}, not {{}}", value, path=path)
    return value


def check_number(path: str, value: object, low: float = 0, high: float = inf, *, unit: str = "", above: bool = False) -> float:
    """Returns `value`, a number within the bounds, as a float. Both bounds are included, but with `above` the lower one isn't.
    `unit` is what is counted. Raises `InvalidInput`, also for True, NaN, infinity, and whole numbers that no float can hold."""
    if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high and not (above and value == low):
        try:
            number = float(value)
        except OverflowError:
            number = inf
        if number != inf:
            return number
    of = f" of {unit}" if unit else ""
    raise InvalidInput(
        f"must be a number{of}{_within(low, None if high == inf else high, above=above)}, not {{}}", value, path=path
    )


def check_one_of(path: str, value: object, allowed: Iterable[T]) -> T:
    """Returns `value`, one of the words that are allowed. Raises `InvalidInput`, which lists them."""
    words = tuple(allowed)
    if isinstance(value, str):
        for word in words:
            if word == value:
                return word
    said = ", ".join(str(word) or "''" for word in words)
    raise InvalidInput(f"must be one of {said}, not {{}}", value, path=path)


def check_some_of(path: str, values: Iterable[object], allowed: Iterable[str]) -> None:
    """Checks that each value is one of the words that are allowed. Raises `InvalidInput` for the first that isn't."""
    words = tuple(allowed)
    for value in values:
        if value not in words:
            raise InvalidInput(f"must be some of {', '.join(words)}, not {{}}", value, path=path)


def _within(low: float, high: float | None, *, above: bool = False) -> str:
    """The words for the bounds of a number."""
    if above:
        return f" above {_written(low)}" if high is None else f" above {_written(low)}, at most {_written(high)}"
    return f", {_written(low)} or more" if high is None else f" from {_written(low)} to {_written(high)}"


def _written(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"


def check_size(argument: str, size: int, limit: Limit, *, at_least: bool = False) -> None:
    """Raises `InvalidInput` where `size` exceeds the limit. `at_least`: counting stopped there, the real size may be larger."""
    if size > limit.maximum:
        known = f"{'at least ' if at_least else ''}{size:,} {limit.unit}"
        raise InvalidInput(f"has {known}, {limit.maximum:,} are allowed", path=argument, advice=limit.instead)


def check_text(argument: str, value: object, limit: Limit, *, valid: bool = True) -> str:
    """Returns `value`, a string within the limit; `valid` also demands that UTF-8 can hold it. Raises `InvalidInput`."""
    text = check_type(argument, value, str, "a string")
    check_size(argument, len(text), limit)
    return check_unicode(argument, text) if valid else text


def check_optional_text(argument: str, value: object, limit: Limit) -> None:
    """Checks a text that may be None. Raises `InvalidInput`."""
    if value is not None:
        check_text(argument, value, limit)


def check_unicode(argument: str, value: str) -> str:
    """Returns `value`. Raises `InvalidInput` for lone surrogates: halves of characters that no file, database or provider
    takes."""
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"holds a lone surrogate at character {error.start}: it isn't valid Unicode", path=argument
            ) from None
    return value


def check_entries(argument: str, value: object, limit: Limit, each: Limit) -> tuple[str, ...]:
    """Returns an iterable of strings as a tuple. Reads at most one entry more than the limit. Raises `InvalidInput`."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(f"must be a list of strings, not {type(value).__name__}", path=argument)
    size = len(value) if isinstance(value, list | tuple | set | frozenset) else 0
    check_size(argument, size, limit)
    found = tuple(islice(value, limit.maximum + 1))
    check_size(argument, len(found), limit, at_least=True)
    for index, entry in enumerate(found):
        if not isinstance(entry, str) or len(entry) > each.maximum or not entry.isascii():
            check_text(f"{argument}[{index}]", entry, each)
    return found


def check_digits(argument: str, value: int) -> int:
    """Returns `value`, a whole number of at most `DIGITS` bits. Raises `InvalidInput`."""
    if value.bit_length() > DIGITS.maximum:
        problem = f"holds a whole number of {value.bit_length():,} bits, {DIGITS.maximum:,} are allowed"
        raise InvalidInput(problem, path=argument)
    return value


# The seconds until an answer is due.


_MAX_SECONDS, _MAX_WHOLE_SECONDS = 60, 30
"""Seconds. A whole number (`int`) above the second is read as milliseconds that somebody meant: 48 seconds are 48.0."""


def check_answer_time(name: str, value: object, *, forever: str = "") -> None:
    """Raises `InvalidInput`, with a hint where milliseconds seem to be meant. `forever` says what None does, where it may be
    None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
        allowed = f"at most {_MAX_SECONDS}, or None, which {forever}" if forever else f"at most {_MAX_SECONDS}"
        raise InvalidInput(f"must be above 0 seconds and {allowed}, not {{}}", value, path=name)
    whole = isinstance(value, int)
    if value > (_MAX_WHOLE_SECONDS if whole else _MAX_SECONDS):
        hint = f": did you mean {value / 1000:g}?" if value <= 1000 * _MAX_SECONDS else f": None {forever}" if forever else ""
        other = f" {value} seconds are {float(value)!r}." if whole and value <= _MAX_SECONDS else ""
        raise InvalidInput(f"is in seconds, at most {_MAX_SECONDS}, not {{}}{hint}{other}", value, path=name)


def parse_answer_time(name: str, written: str) -> float:
    """Returns the seconds that a text names in digits. Raises `InvalidInput`."""
    try:
        value = int(written) if written.strip().lstrip("+-").isdecimal() else float(written)
    except ValueError:
        raise InvalidInput("is in seconds, such as 0.25, not {}", written, path=name) from None
    check_answer_time(name, value)
    return value


# The argument with which a request names the task that it works on.


def check_task(task: object, session: str | None) -> str | bool | None:
    """Returns the task: an id, True or None for the current one, False for none. Raises `InvalidInput` for what names no task,
    and for a task without a session."""
    if task is None or isinstance(task, bool):
        wanted: bool | str | None = task
    else:
        wanted = check_text("task", task, ID)
        if not wanted.strip():
            raise InvalidInput("is blank", path="task", advice="give a task's id, True, False or None")
    if wanted and not session:
        raise InvalidInput("needs a session", path="task", advice="name the conversation that the task belongs to")
    return wanted
