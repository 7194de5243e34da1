"""Compaction screen: what a compaction did, for a person and as JSON; and what a handle in a compacted prompt stands for."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from rich.rule import Rule
from rich.text import Text

from germane.cli.codec import encode
from germane.cli.listing import print_fields
from germane.cli.screen import console, plain

if TYPE_CHECKING:
    from germane.api.agent_history import EarlierMessages
    from germane.compaction.compaction import Compaction

__all__ = ["compaction_shape", "earlier_shape", "print_compaction", "print_earlier"]


def compaction_shape(made: Compaction) -> dict[str, Any]:
    """A compaction as JSON, without the entries: what was taken out is in the messages given."""
    shown = (
        "provider",
        "messages",
        "system",
        "tokens_before",
        "tokens",
        "max_tokens",
        "fits",
        "masked",
        "summarised",
        "dropped",
    )
    return {
        **{name: encode(getattr(made, name)) for name in (*shown, "quarantined")},
        "summary": None if made.summary is None else made.summary.text,
        "constraints": [one.text for one in made.constraints],
        "cited": list(made.cited),
        "trace": encode(made.trace),
    }


def print_compaction(made: Compaction) -> None:
    """Print the figures, what couldn't be done, the handles, and last the summary."""
    screen, trace = console(), made.trace
    saved = f"{trace.saved_tokens:,} tokens; {trace.cache_lost_tokens:,} are read anew"
    fields = [
        ("tokens", f"{made.tokens_before:,} before, {made.tokens:,} now, of {made.max_tokens:,}"),
        ("fits", "yes" if made.fits else "no: what may not be lost is larger"),
        ("messages", f"{len(made.messages):,}"),
        ("masked", _counted(made.masked, "tool output")),
        ("summarised", _counted(made.summarised, "message")),
        ("dropped", _counted(made.dropped, "message")),
        ("closed", f"{_counted(len(made.quarantined), 'message')} without a call or a result" if made.quarantined else ""),
        ("saved", saved if trace.saved_tokens else ""),
        ("pays after", "" if trace.pays_after is None else _counted(max(1, ceil(trace.pays_after)), "call")),
        *(("because" if not index else " ", reason) for index, reason in enumerate(trace.reasons)),
        *(("handles" if not index else " ", handle) for index, handle in enumerate(made.cited)),
    ]
    print_fields(screen, fields)
    if made.summary is not None:
        screen.print(Rule(Text("summary", style="bold"), align="left", style="dim", characters="─"))
        screen.print(Text(plain(made.summary.text)))


def earlier_shape(earlier: EarlierMessages) -> dict[str, Any]:
    """What a handle stands for, as JSON."""
    return {"type": "earlier", **encode(earlier)}


def print_earlier(earlier: EarlierMessages) -> None:
    """Print what a handle stands for: where it is from, and the text last."""
    count = len(earlier.messages)
    output = earlier.kind == "output"
    fields = [
        ("handle", earlier.handle),
        ("kind", "a tool output that was masked" if output else f"{_counted(count, 'message')} that left"),
        ("title", earlier.title),
        ("session", earlier.session),
        ("taken out", f"{earlier.created_at:%Y-%m-%d %H:%M:%S}"),
        ("before it", earlier.previous),
    ]
    screen = console()
    print_fields(screen, fields)
    screen.print(Rule(Text("text", style="bold"), align="left", style="dim", characters="─"))
    screen.print(Text(plain(earlier.text)))


def _counted(count: int, name: str) -> str:
    return "" if not count else f"{count:,} {name}{'' if count == 1 else 's'}"
