"""Targets: germane's targets against the peers that embed, and whether saved results meet them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bench.peers.peer import ROWS
from bench.peers.results import Rows, at
from bench.peers.table import markdown

__all__ = ["targets"]

POINTS, TIMES, SHARE = 12, 10, 3
_TITLES: Mapping[str, str] = {row.name: row.title for row in ROWS}
_OURS = [row.name for row in ROWS if row.ours]


def targets(rows: Rows) -> str:
    """One line per target: required, measured, met or not. Peers are the rows that embed, except germane."""
    lines = [*_recall(rows), *_search(rows), *_ingest(rows)]
    return markdown(("target", "measured", ""), lines)


def _peers(rows: Rows, *path: str) -> dict[str, float]:
    found = {row.name: at(rows, row.name, *path) for row in ROWS if row.embeds and not row.ours}
    return {name: value for name, value in found.items() if value is not None}


def _recall(rows: Rows) -> Iterator[tuple[str, str, str]]:
    for budget in (500, 1_000):
        peers = _peers(rows, "recall", f"in_{budget}")
        for name in _OURS:
            mine = at(rows, name, "recall", "context", f"in_{budget}")
            if peers and mine is not None:
                best = max(peers, key=peers.__getitem__)
                gap = mine - peers[best]
                measured = f"{mine:.1f} against {peers[best]:.1f} ({_TITLES[best]}): {gap:+.1f}"
                yield (
                    f"recall in {budget:,} tokens {POINTS} points above the best: {_TITLES[name]}",
                    measured,
                    _met(gap >= POINTS),
                )


def _search(rows: Rows) -> Iterator[tuple[str, str, str]]:
    peers = _peers(rows, "search", "100000", "p95_ms")
    for name in _OURS:
        mine = at(rows, name, "search", "100000", "p95_ms")
        if not peers or mine is None:
            continue
        fastest = min(peers, key=peers.__getitem__)
        measured = f"{mine:.1f} ms against {peers[fastest]:.1f} ({_TITLES[fastest]})"
        yield f"search p95 at 100,000 not above the fastest: {_TITLES[name]}", measured, _met(mine <= peers[fastest])
        near = [f"{_TITLES[peer]} ({p95:.1f})" for peer, p95 in peers.items() if peer != fastest and mine > p95 / SHARE]
        measured = f"{mine:.1f} ms; " + (f"not of {', '.join(near)}" if near else "of all others")
        yield f"and at most a third of every other: {_TITLES[name]}", measured, _met(not near)


def _ingest(rows: Rows) -> Iterator[tuple[str, str, str]]:
    for each in (30, 1):
        peers, mine = _peers(rows, "ingest", f"by_{each}"), at(rows, "germane", "ingest", f"by_{each}")
        if peers and mine:
            best = max(peers, key=peers.__getitem__)
            times = mine / peers[best]
            measured = f"{mine:,.0f}/s against {peers[best]:,.0f} ({_TITLES[best]}): {times:.0f} times"
            yield f"ingest as it comes {TIMES} times the best, in calls of {each}", measured, _met(times >= TIMES)


def _met(yes: bool) -> str:
    return "met" if yes else "**not met**"
