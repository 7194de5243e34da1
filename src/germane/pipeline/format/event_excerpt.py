"""Event excerpt: shortens what a command, a test or an error printed: its first line, and as much of the end as fits.

The end is where such an output says what went wrong, and how it came out; a query's words rarely stand there.
"""

from __future__ import annotations

from bisect import bisect_right

from germane.events.wording import action_of
from germane.pipeline.format.shorten import Cost, Excerpt

__all__ = ["ends_matter", "event_excerpt"]

_MARK = "\u2026"
_MAX_TAIL = 64
"""Lines of the end that are looked at."""
_MAX_CHARS = 4_000
"""Characters of the first line, and of the end, that are looked at."""


def ends_matter(event_type: str) -> bool:
    """Whether events of this type are outputs, whose ends matter most."""
    return action_of(event_type) in ("execute", "test", "error")


def event_excerpt(text: str, limit: int, cost: Cost) -> Excerpt | None:
    """Returns the first line, a mark, and as many of the last lines as cost at most `limit` tokens together; None where not
    even the last line fits beside the first. `cost` returns the tokens of a text as written; it is called
    at most eight times."""
    first, found, rest = text.rstrip().partition("\n")
    if not found or len(first) > _MAX_CHARS:
        return None
    lines = rest[-_MAX_CHARS:].split("\n")[-_MAX_TAIL:]
    if len(lines) > 1 and len(rest) > _MAX_CHARS:
        lines = lines[1:]  # the first of them may have been cut

    def shown(count: int) -> str:
        end = "\n".join(lines[len(lines) - count :])
        return f"{first}\n{end}" if len(end) == len(rest) else f"{first}\n{_MARK}\n{end}"

    fitting = bisect_right(range(1, len(lines) + 1), False, key=lambda count: cost(shown(count)) > limit)
    if not fitting:
        return None
    best = shown(fitting)
    return Excerpt(best, min(1.0, len(best) / len(text)))
