"""Moment: writes times for a prompt, in the scope's zone (SCOPE-4)."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo

__all__ = ["clock_time", "day", "minute"]


def day(moment: datetime, zone: tzinfo) -> date:
    """The date in that zone; its text is such as `2023-05-08`."""
    return _local(moment, zone).date()


def minute(moment: datetime, zone: tzinfo) -> str:
    """The time to the minute, such as `2023-05-08T13:56Z`, or with the zone's offset."""
    written = _local(moment, zone).isoformat(timespec="minutes")
    return f"{written[:-6]}Z" if written.endswith("+00:00") else written


def clock_time(moment: datetime, zone: tzinfo) -> str:
    """The time of day in that zone, such as `13:56`."""
    return f"{_local(moment, zone):%H:%M}"


def _local(moment: datetime, zone: tzinfo) -> datetime:
    """The moment in the zone; in UTC at the ends of the calendar, where the zone would leave it."""
    if moment.tzinfo is zone:
        return moment
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError):
        return moment.astimezone(UTC)
