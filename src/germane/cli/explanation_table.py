"""Explanation table: prints a trace: each candidate, in or out, with its score, its tokens and the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from germane.cli.budget_bar import bar, slices
from germane.cli.listing import ListColumn, print_rows
from germane.cli.screen import plain
from germane.cli.trace_file import SavedTrace
from germane.types.candidate import Chosen, LeftOut, Scored
from germane.types.explain import amount_lines
from germane.types.trace import SourceReport
from germane.types.unread import Unread

__all__ = ["print_explanation"]

_NARROW = 76
"""Columns of a terminal below which the text of a row would have no room."""
_STACKED = (
    ListColumn("rank"),
    ListColumn("source"),
    ListColumn("score"),
    ListColumn("tokens", number=True),
    ListColumn("why"),
    ListColumn("text"),
)
_COLUMNS = {"rank": "right", "": "left", "source": "left", "score": "right", "rel rec use con frq": "left"}


def print_explanation(
    saved: SavedTrace,
    screen: Console,
    *,
    everything: bool = False,
    ids: bool = False,
    texts: Mapping[str, str] | None = None,
    max_left_out: int = 12,
) -> None:
    """Print the trace. Of the candidates that were left out the best `max_left_out` are shown, or all with `everything`, and
    then also what was found and not read; `texts` holds its texts by id, as far as somebody has read them since."""
    trace, metadata = saved.trace, saved.metadata
    screen.print(Text(f"strategy {trace.strategy} · model {trace.model} · tokens by {trace.tokenizer}", style="dim"))
    if metadata.fallback_reason:
        screen.print(Text(f"fell back: {metadata.fallback_reason} (level {metadata.degradation_level})", style="yellow"))
    for warning in trace.warnings:
        screen.print(Text(f"warning: {plain(warning)}", style="yellow"))
    for line in amount_lines(trace):
        screen.print(Text(line, style="dim"))
    if trace.budget is not None:
        window, own = slices(trace.budget, trace, metadata)
        screen.print(bar(screen, "Window", trace.budget.window, window))
        if trace.budget.available:
            screen.print(bar(screen, "What germane may add", trace.budget.available, own))
    left_out = sorted(trace.left_out, key=lambda item: item.scored.rank)
    shown = left_out if everything else left_out[:max_left_out]
    if trace.chosen or shown:
        listed: list[Chosen | LeftOut] = [*sorted(trace.chosen, key=lambda item: item.scored.rank), *shown]
        if screen.width < _NARROW:
            print_rows(screen, _STACKED, [_short(item, ids) for item in listed])
        else:
            screen.print(_table(listed, ids))
    if len(left_out) > len(shown):
        screen.print(Text(f"… and {len(left_out) - len(shown)} more left out (--all shows them)", style="dim"))
    if trace.unread and everything:
        screen.print(_unread_table(trace.unread, texts or {}, ids=ids))
    elif trace.unread:
        screen.print(
            Text(f"… and {len(trace.unread)} more found that can't be worth their tokens (--all reads them)", style="dim")
        )
    screen.print(Text(_sources_and_timings(saved), style="dim"))


def _table(items: list[Chosen | LeftOut], ids: bool) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=True)
    for name, justify in _COLUMNS.items():
        made.add_column(name, justify="right" if justify == "right" else "left", no_wrap=True)
    made.add_column("tokens", justify="right", no_wrap=True)
    made.add_column("why", no_wrap=True)
    made.add_column("id" if ids else "text", no_wrap=True, overflow="ellipsis", ratio=1)
    for item in items:
        made.add_row(*_cells(item, ids), style="" if isinstance(item, Chosen) else "dim")
    return made


def _short(item: Chosen | LeftOut, ids: bool) -> tuple[str, ...]:
    """The cells of a row without the parts of the score."""
    rank, outcome, source, score, _, tokens, why, text = (cell.plain for cell in _cells(item, ids))
    return f"{rank} {outcome}", source, score, tokens, why, text


def _unread_table(unread: Sequence[Unread], texts: Mapping[str, str], *, ids: bool) -> Table:
    made = Table(
        box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold", expand=True, title="found, not worth reading"
    )
    made.add_column("P", justify="right", no_wrap=True)
    made.add_column("tokens", justify="right", no_wrap=True)
    made.add_column("id" if ids else "text", no_wrap=True, overflow="ellipsis", ratio=1)
    for one in unread:
        text = one.id if ids or not texts else texts.get(one.id, "gone: it was forgotten, or may not be shown any more")
        cells = (f"{one.probability:.4f}", f"≥ {one.tokens}", plain(" ".join(text.split()), 200))
        made.add_row(*map(Text, cells), style="dim")
    return made


def _cells(item: Chosen | LeftOut, ids: bool) -> list[Text]:
    scored, candidate = item.scored, item.scored.candidate
    chosen = isinstance(item, Chosen)
    why = item.reason.replace("_", " ") if isinstance(item, LeftOut) else _reason(item)
    by = candidate.title if candidate.category == "document" else candidate.speaker
    content = item.id if ids else f"{by}: {candidate.text}" if by else candidate.text
    return [
        Text(str(scored.rank)),
        Text("in" if chosen else "out", style="green" if chosen else "red"),
        Text(plain(candidate.category if candidate.source == "memories" else candidate.source, 12)),
        Text(f"{scored.score:.3f}"),
        Text(_score_parts(scored)),
        Text("" if item.tokens is None else str(item.tokens)),
        Text(why),
        Text(plain(" ".join(content.split()), 200)),
    ]


def _reason(item: Chosen) -> str:
    if item.share < 1:
        return f"{item.share:.0%} shown"
    return "required" if item.scored.candidate.required else "chosen"


def _score_parts(scored: Scored) -> str:
    """Relevance, recency, usefulness, confidence and frequency, without the leading 0."""
    parts = scored.breakdown
    values = (parts.relevance, parts.recency, parts.usefulness, parts.confidence, parts.frequency)
    return " ".join(f"{value:.2f}"[1:] if 0 <= value < 0.995 else "1.0" for value in values)


def _sources_and_timings(saved: SavedTrace) -> str:
    reports = [" ".join(filter(None, (report.name, *_outcome(report)))) for report in saved.trace.sources]
    stages = [f"{name} {seconds * 1000:.1f} ms" for name, seconds in saved.trace.timings]
    return "\n".join(
        filter(None, ["found: " + " · ".join(reports) if reports else "", "took: " + " · ".join(stages) if stages else ""])
    )


def _outcome(report: SourceReport) -> tuple[str, str]:
    """The number of candidates that a source found; or its status and the reason where it isn't `ok`."""
    return (str(report.found or "ok"), "") if report.status == "ok" else (report.status, plain(report.reason, 60))
