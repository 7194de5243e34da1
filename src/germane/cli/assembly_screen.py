"""Assembly screen: prints an assembly: its messages, each candidate with the reason, the budget; and its trace file.

A trace holds each candidate, in or out, with its score, its tokens and the reason. `explain --trace` shows a trace file
again unchanged. A trace file holds the texts of what was found, selected and left out: keep it as private as the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from germane.cli.files import read_json, write_text
from germane.cli.screen import ListColumn, plain, print_rows, printable_json
from germane.errors import InvalidInput
from germane.types.budget import Budget
from germane.types.candidate import Chosen, LeftOut, Scored
from germane.types.codec import decode, encode
from germane.types.context import Context, Metadata
from germane.types.evidence import Unread
from germane.types.message import Message
from germane.types.trace import SourceReport, Trace, amount_lines

_MIN_WIDTH = 76
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
        if screen.width < _MIN_WIDTH:
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


# How the tokens of a context window are spent, in colours or, without colours, in letters.


class Slice(NamedTuple):
    """A part of a bar, drawn in `colour`, or as `letter` where there are no colours."""

    name: str
    tokens: int
    colour: str
    letter: str


def slices(budget: Budget, trace: Trace, metadata: Metadata) -> tuple[tuple[Slice, ...], tuple[Slice, ...]]:
    """Returns the parts of the whole window, and the parts of the budget that germane may use."""
    added = metadata.total_tokens_injected
    recalled = sum(item.tokens for item in trace.chosen if item.category == "conversation")
    memories = sum(item.tokens for item in trace.chosen) - recalled
    free = max(0, budget.window - budget.messages - budget.tools - added - budget.reserve - budget.safety)
    window = (
        Slice("messages", budget.messages, "blue", "M"),
        Slice("tools", budget.tools, "magenta", "T"),
        Slice("germane", added, "green", "G"),
        Slice("free", free, "bright_black", "."),
        Slice("reserve for the answer", budget.reserve, "yellow", "R"),
        Slice("safety", budget.safety, "red", "S"),
    )
    own = (
        Slice("directive and wrapper", max(0, added - recalled - memories), "magenta", "D"),
        Slice("memories", memories, "green", "K"),
        Slice("conversation", recalled, "cyan", "C"),
        Slice("unused", max(0, budget.available - added), "bright_black", "."),
    )
    return window, own


def bar(console: Console, title: str, total: int, parts: Sequence[Slice]) -> Text:
    """Returns the title, the bar, and a legend with the tokens of each part. Empty parts are left out."""
    shown = [part for part in parts if part.tokens > 0]
    width = max(10, min(console.width, 100) - 2)
    line = Text(f"{title} {total:,} tokens\n", style="bold")
    colour = console.color_system is not None and not console.no_color
    for part, columns in zip(shown, widths([part.tokens for part in shown], width), strict=True):
        line.append("█" * columns if colour else part.letter * columns, style=f"not bold {part.colour}")
    line.append("\n")
    for part in shown:
        line.append("■ " if colour else f"{part.letter} ", style=f"not bold {part.colour}")
        line.append(f"{part.name} {part.tokens:,}   ", style="not bold")
    return line


def widths(tokens: Sequence[int], total_width: int) -> list[int]:
    """Returns the number of columns of each part: `total_width` in all, in proportion to `tokens` by the largest-remainder
    method, at least one each."""
    total = sum(tokens)
    if not total:
        return [0 for _ in tokens]
    exact = [count * total_width / total for count in tokens]
    columns = [max(1, int(share)) for share in exact]
    order = sorted(range(len(tokens)), key=lambda index: exact[index] - int(exact[index]), reverse=True)
    for index in order:
        columns[index] += sum(columns) < total_width
    while (over := sum(columns) - total_width) > 0 and max(columns) > 1:
        columns[columns.index(max(columns))] -= min(over, max(columns) - 1)
    columns[columns.index(max(columns))] += max(0, total_width - sum(columns))
    return columns


# The messages of an assembled context for a person to read.


def print_messages(context: Context, screen: Console) -> None:
    """Print the messages, each under its role; the system prompt comes first."""
    print_conversation(context.messages, context.system, screen)


def print_conversation(given: Sequence[Mapping[str, Any] | Message], system: Any, screen: Console) -> None:
    """Print messages and a system prompt, as `print_messages`."""
    messages = list(map(encode, given))
    # Where the provider has no system field, the system prompt is the first message already.
    if system and not (messages and messages[0].get("role") == "system"):
        text = system if isinstance(system, str) else "\n\n".join(str(part.get("text", part)) for part in system)
        _print(screen, "system", text)
    for message in messages:
        heading = message.get("role") or message.get("type", "?")
        _print(screen, str(heading), _text(message.get("content", message.get("parts"))))


def _print(screen: Console, role: str, text: str) -> None:
    screen.print(Rule(Text(plain(role, 20), style="bold"), align="left", style="dim", characters="─"))
    screen.print(Text(plain(text)))


def _text(content: Any) -> str:
    """The text of a message's content; a part without text is shown as its type in brackets."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part.get("text") or f"[{part.get('type', 'part')}]") if isinstance(part, Mapping) else str(part) for part in parts
    )


# One assembly on disk.


VERSION = 1
_FORMAT = "germane-trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTrace:
    """The parts of a `Context` that explain it: everything except the messages."""

    provider: str
    added: str
    metadata: Metadata
    trace: Trace

    @classmethod
    def of(cls, context: Context) -> SavedTrace:
        return cls(provider=context.provider, added=context.added, metadata=context.metadata, trace=context.trace)


def dump(saved: SavedTrace) -> dict[str, Any]:
    """Returns the JSON document: `format`, `version`, then the fields of `SavedTrace`."""
    return {"format": _FORMAT, "version": VERSION, **encode(saved)}


def save(saved: SavedTrace, path: Path) -> None:
    """Write a trace file. Raises `InvalidInput` where the file can't be written."""
    write_text(path, printable_json(dump(saved), indent=None) + "\n")


def load(path: str) -> SavedTrace:
    """Read a trace file. Raises `InvalidInput`, with the place of the fault, where the file is no trace of this version."""
    document = read_json(path)
    if not isinstance(document, Mapping) or document.get("format") != _FORMAT:
        raise InvalidInput(f"{path} is no saved trace (write one with germane assemble --save-trace FILE)")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInput(
            f"{path} is a trace of version {repr(version)[:20]}; this germane reads version {VERSION} (save it again)"
        )
    content = {key: value for key, value in document.items() if key not in ("format", "version")}
    try:
        return decode(SavedTrace, content, "trace file")
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deep") from None
