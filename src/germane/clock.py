"""Time, passed in. Two clocks: the calendar (`now`) for recency and validity, and a steady one (`steady`) for deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from germane.errors import InvalidInput
from germane.types.limits import NAME, text

__all__ = ["Clock", "aware", "zone"]


def _calendar() -> datetime:
    return datetime.now(UTC)


def _steady() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """`now` answers an aware datetime in UTC; `steady` answers seconds on the event loop's own clock,
    so a loop with its own idea of time (`germane.testing.time_warp`) moves every deadline with it."""

    now: Callable[[], datetime] = _calendar
    steady: Callable[[], float] = _steady


def zone(name: str) -> tzinfo:
    """The time zone called `name` (IANA, such as `Europe/Vienna`). Raises `InvalidInput` for an unknown one."""
    if not isinstance(name, str):
        raise InvalidInput(f"zone must be an IANA name such as 'Europe/Vienna', or 'UTC', not {type(name).__name__}")
    if text("zone", name, NAME).upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidInput(f"unknown time zone {name!r}: give an IANA name such as 'Europe/Vienna', or 'UTC'") from error


def aware(moment: datetime, zone_name: str = "UTC", name: str = "time") -> datetime:
    """`moment` in UTC; a naive one is read as local time of the scope's zone (SCOPE-4). Raises `InvalidInput`, which calls it
    `name`, for one that lies outside of what a datetime can hold."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone(zone_name))
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"{name} {moment.isoformat()} is outside the years 1 to 9999 in UTC") from error
