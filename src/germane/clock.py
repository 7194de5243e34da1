"""Clock: time, passed in. The calendar (`now`) serves recency and validity, the steady clock (`steady`) deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from germane.errors import InvalidInput
from germane.types.checks import check_text
from germane.types.limits import NAME


def _calendar() -> datetime:
    return datetime.now(UTC)


def _steady() -> float:
    return asyncio.get_running_loop().time()


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """`now` returns an aware datetime in UTC. `steady` returns seconds on the event loop's own clock, so that a test's loop
    with a simulated clock (`germane_testing.time_warp`) moves every deadline with it. Any other `steady` is called in threads,
    too."""

    now: Callable[[], datetime] = _calendar
    steady: Callable[[], float] = _steady

    def steady_in_thread(self) -> Callable[[], float]:
        """Returns `steady` for a thread, in which no event loop runs. To be called on the loop."""
        return asyncio.get_running_loop().time if self.steady is _steady else self.steady


def zone(name: str) -> tzinfo:
    """Returns the IANA time zone called `name`, such as `Europe/Vienna`. Raises `InvalidInput` for an unknown name."""
    if not isinstance(name, str):
        raise InvalidInput(f"must be an IANA name such as 'Europe/Vienna', or 'UTC', not {type(name).__name__}", path="zone")
    if check_text("zone", name, NAME).upper() == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidInput(
            "{} is unknown", name, path="zone", advice="give an IANA name such as 'Europe/Vienna', or 'UTC'"
        ) from error


def aware(moment: datetime, zone_name: str = "UTC", name: str = "time") -> datetime:
    """Returns `moment` in UTC; a naive datetime is local time of the scope's zone (SCOPE-4). Raises `InvalidInput`, which
    calls it `name`, where UTC would lie outside the years 1 to 9999."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone(zone_name))
    try:
        return moment.astimezone(UTC)
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"{moment.isoformat()} is outside the years 1 to 9999 in UTC", path=name) from error
