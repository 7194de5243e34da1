"""Explanation: a trace as a table: each candidate, in or out, its score with its parts, its tokens, and why."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from germane.cli.budget_bar import bar, slices
from germane.cli.screen import plain
from germane.cli.trace_file import Saved
from germane.types.candidate import Chosen, LeftOut, Scored
from germane.types.trace import SourceReport

__all__ = ["explanation"]


def explanation(kept: Saved, console: Console, *, everything: bool = False, ids: bool = False, leaving_out: int = 12) -> None:
    """Print it. Of what was left out the best `leaving_out` are shown unless `everything` is asked for."""
    trace, metadata = kept.trace, kept.metadata
    console.print(Text(f"strategy {trace.strategy} · model {trace.model} · tokens by {trace.tokenizer}", style="dim"))
    if metadata.fallback_reason:
        console.print(Text(f"fell back: {metadata.fallback_reason} (level {metadata.degradation_level})", style="yellow"))
    for warning in trace.warnings:
        console.print(Text(f"warning: {plain(warning)}", style="yellow"))
    if trace.budget is not None:
        window, own = slices(trace.budget, trace, metadata)
        console.print(bar(console, "Window", trace.budget.window, window))
        if trace.budget.available:
            console.print(bar(console, "What germane may add", trace.budget.available, own))
    out = sorted(trace.left_out, key=lambda item: item.scored.rank)
    shown = out if everything else out[:leaving_out]
    if trace.chosen or shown:
        console.print(_rows([*sorted(trace.chosen, key=lambda item: item.scored.rank), *shown], ids))
    if len(out) > len(shown):
        console.print(Text(f"… and {len(out) - len(shown)} more left out (--all shows them)", style="dim"))
    console.print(Text(_sources(kept), style="dim"))


def _rows(items: list[Chosen | LeftOut], ids: bool) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=True)
    for name, justify in (
        ("rank", "right"),
        ("", "left"),
        ("source", "left"),
        ("score", "right"),
        ("rel rec use con frq", "left"),
    ):
        made.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    made.add_column("tokens", justify="right", no_wrap=True)
    made.add_column("why", no_wrap=True)
    made.add_column("id" if ids else "text", no_wrap=True, overflow="ellipsis", ratio=1)
    for item in items:
        made.add_row(*_cells(item, ids), style="" if isinstance(item, Chosen) else "dim")
    return made


def _cells(item: Chosen | LeftOut, ids: bool) -> list[Text]:
    scored, candidate = item.scored, item.scored.candidate
    went_in = isinstance(item, Chosen)
    why = item.reason.replace("_", " ") if isinstance(item, LeftOut) else _how(item)
    content = item.id if ids else f"{candidate.speaker}: {candidate.text}" if candidate.speaker else candidate.text
    return [
        Text(str(scored.rank)),
        Text("in" if went_in else "out", style="green" if went_in else "red"),
        Text(plain(candidate.category if candidate.source == "memories" else candidate.source, 12)),
        Text(f"{scored.score:.3f}"),
        Text(_parts(scored)),
        Text("" if item.tokens is None else str(item.tokens)),
        Text(why),
        Text(plain(" ".join(content.split()), 200)),
    ]


def _how_it_did(report: SourceReport) -> tuple[str, str]:
    return (str(report.found or "ok"), "") if report.status == "ok" else (report.status, plain(report.reason, 60))


def _how(item: Chosen) -> str:
    if item.share < 1:
        return f"{item.share:.0%} shown"
    return "required" if item.scored.candidate.required else "chosen"


def _parts(scored: Scored) -> str:
    parts = scored.breakdown
    shown = (parts.relevance, parts.recency, parts.usefulness, parts.confidence, parts.frequency)
    return " ".join(f"{part:.2f}"[1:] if 0 <= part < 0.995 else "1.0" for part in shown)


def _sources(kept: Saved) -> str:
    reports = [" ".join(filter(None, (report.name, *_how_it_did(report)))) for report in kept.trace.sources]
    stages = [f"{name} {seconds * 1000:.1f} ms" for name, seconds in kept.trace.timings]
    return "\n".join(
        filter(None, ["found: " + " · ".join(reports) if reports else "", "took: " + " · ".join(stages) if stages else ""])
    )
