"""Table: formats saved results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.peers.peer import ROWS, Row
from bench.peers.results import Rows, at

__all__ = ["markdown", "tables"]

_PERCENTS = (50, 95, 99)


def tables(rows: Rows) -> str:
    """A summary table, then recall, speed and size in detail, for each peer that was measured."""
    return "\n\n".join(part for part in (_overall(rows), _recall(rows), _speed(rows), _weight(rows)) if part)


def markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; empty text without lines."""
    if not lines:
        return ""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *lines))


def _overall(rows: Rows) -> str:
    lines = []
    for row in ROWS:
        if row.name not in rows:
            continue
        recall, many = at(rows, row.name, "recall"), at(rows, row.name, "search", "100000")
        shown = recall.get("context", recall) if recall else {}
        shares = [f"{shown[name]:.1f}" if name in shown else "–" for name in ("in_500", "in_1000", "all_in_1000")]
        taken = _rate(at(rows, row.name, "ingest"), 30)
        weight = at(rows, row.name, "install", "megabytes")
        memory = _memory(at(rows, row.name, "search", "10000"), many)
        lines.append((row.title, *shares, _times(many), taken, "–" if weight is None else f"{weight:,.0f}", memory, row.synced))
    heads = (
        "",
        "in 500",
        "in 1,000",
        "all in 1,000",
        "search at 100,000, ms",
        "taken in a second",
        "installed, MB",
        "RSS, MB",
        "synced",
    )
    return markdown(heads, lines)


def _recall(rows: Rows) -> str:
    lines = []
    for row in ROWS:
        found = at(rows, row.name, "recall")
        if not found:
            continue
        if "failed" in found:
            lines.append((row.title, "failed", "", ""))
            continue
        if row.ours:
            lines.append((f"{row.title}, its own context", *_shares(found["context"])))
        lines.append((f"{row.title}, its hits" if row.ours else row.title, *_shares(found)))
    return markdown(("percent of the evidence", "in 500 tokens", "in 1,000 tokens", "all of it in 1,000"), lines)


def _shares(found: Mapping[str, Any]) -> tuple[str, str, str]:
    return f"{found['in_500']:.1f}", f"{found['in_1000']:.1f}", f"{found['all_in_1000']:.1f}"


def _speed(rows: Rows) -> str:
    lines: list[tuple[str, ...]] = []
    for row in ROWS:
        few, many, taken = (
            at(rows, row.name, "search", "10000"),
            at(rows, row.name, "search", "100000"),
            at(rows, row.name, "ingest"),
        )
        if few or many or taken:
            lines.append((row.title, _times(few), _times(many), _rate(taken, 30), _rate(taken, 1), _memory(few, many)))
        if row.ours and (few or many):
            written = [_times(at(rows, row.name, "search", size, "assemble")) for size in ("10000", "100000")]
            lines.append((f"{row.title}, `assemble`", *written, "", "", ""))
    heads = (
        "",
        "search at 10,000: p50 / p95 / p99 ms",
        "at 100,000",
        "taken in a second, calls of 30",
        "calls of 1",
        "RSS, MB",
    )
    return markdown(heads, lines)


def _times(found: Mapping[str, Any] | None) -> str:
    if not found:
        return "–"
    if "p50_ms" not in found:
        return "not done"
    places = 1 if found["p50_ms"] < 100 else 0
    return " / ".join(f"{found[f'p{percent}_ms']:,.{places}f}" for percent in _PERCENTS)


def _rate(found: Mapping[str, Any] | None, each: int) -> str:
    return f"{found[f'by_{each}']:,.0f}" if found and f"by_{each}" in found else "–"


def _memory(few: Mapping[str, Any] | None, many: Mapping[str, Any] | None) -> str:
    if many and "rss_mb" in many:
        return f"{many['rss_mb']:,.0f}"
    return f"{few['rss_mb']:,.0f} (10,000)" if few and "rss_mb" in few else "–"


def _weight(rows: Rows) -> str:
    lines = [
        (row.title, _versions(row, found["versions"]), f"{found['megabytes']:,.0f}", row.durable)
        for row in ROWS
        if (found := at(rows, row.name, "install")) and "failed" not in found
    ]
    return markdown(("", "versions", "installed, MB", "what is on disk when a call returns"), lines)


def _versions(row: Row, versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {versions.get(name, '?')}" for name in row.packages) or "comes with Python"
