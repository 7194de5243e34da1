"""Demo screen: prints what a request was given: what answers it, what always stands, what else is worth its tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from germane.cli.screen import plain
from germane.evaluate.made_requests import MadeRequest
from germane.types.candidate import Chosen
from germane.types.context import Context

__all__ = ["holds_answer", "print_answer", "print_legend", "print_next", "shown_parts"]

_MAX_LINES = 12
"""Lines of the terminal that one request takes, at any width."""
_MAX_HEAD, _MAX_OF_ANSWER = 2, 3
"""Lines that a request's text and its last line may take, and lines of an item that holds the answer; other items take one."""
_MAX_LOST = 12
"""Columns that a line is cut short by, so that it ends with a word."""
_PROFILE = "profile"
_ANSWERS, _STANDS, _ADDED = "*", "=", "+"
_STYLES = {_ANSWERS: "green", _STANDS: "magenta", _ADDED: ""}
_LEGEND = ((_ANSWERS, "answers it"), (_STANDS, "always shown"), (_ADDED, "also worth its tokens"))
_INDENT = 2


class _Entry(NamedTuple):
    """An item with its mark and its lines."""

    item: Chosen
    mark: str
    lines: list[Text]


def holds_answer(item: Chosen, request: MadeRequest) -> bool:
    """Whether an item is, or was made of, something that holds the answer."""
    origin = item.scored.candidate.provenance
    return not {item.id, origin.message_id, *origin.refs}.isdisjoint(request.evidence)


def shown_parts(request: MadeRequest, context: Context) -> int:
    """How many of the things that hold the answer are shown."""
    shown = {id for item in context.items for id in (item.id, item.provenance.message_id, *item.provenance.refs)}
    return len(shown & set(request.evidence))


def print_legend(screen: Console) -> None:
    """Prints what the marks in front of the lines mean."""
    for line in _wrapped("   ".join(f"{mark} {what}" for mark, what in _LEGEND), screen, 3, style="dim"):
        screen.print(line, no_wrap=True, crop=True)


def print_answer(screen: Console, number: int, request: MadeRequest, context: Context) -> None:
    """Prints one request with what germane added for it, in at most twelve lines."""
    title = f"{number} · {request.kind}" if request.kind else f"{number}"
    asked = _wrapped(f"> {plain(' '.join(request.text.split()))}", screen, _MAX_HEAD, style="cyan")
    head = [Text(), *_wrapped(title, screen, 1, style="bold"), *asked]
    foot = _wrapped(_outcome(request, context), screen, _MAX_HEAD, style="" if _is_answered(request, context) else "yellow")
    body = list(_body(request, context, screen, _MAX_LINES - len(head) - len(foot)))
    for line in (*head, *body, *foot):
        screen.print(line, no_wrap=True, crop=True)


def print_next(screen: Console, commands: Iterable[tuple[str, str]]) -> None:
    """Prints what to type next, and what for."""
    screen.print()
    for number, (command, what) in enumerate(commands):
        lead = "next: " if not number else " " * len("next: ")
        beside = cell_len(lead + command) + cell_len(what) + _INDENT <= screen.width
        screen.print(f"{lead}{command}  {what}" if beside else f"{lead}{command}", soft_wrap=True)
        if not beside:
            indent = " " * (len(lead) + _INDENT)
            for line in Text(what).wrap(screen, max(1, screen.width - len(indent))):
                screen.print(Text(indent).append_text(line), soft_wrap=True)


def _body(request: MadeRequest, context: Context, screen: Console, room: int) -> Iterable[Text]:
    """The items in the order in which they are written. Where they don't fit, what answers comes before what stands, and that
    before the rest, the best first."""
    entries = [_entry(item, request, screen) for item in context.items]
    if not entries:
        yield Text("  nothing from the memory", style="dim")
        return
    order = sorted(entries, key=lambda one: (tuple(_STYLES).index(one.mark), one.item.scored.rank))
    if sum(len(one.lines) for one in entries) > room:
        room -= 1
    kept = set[int]()
    for one in order:
        if len(one.lines) > room:
            break
        room -= len(one.lines)
        kept.add(id(one))
    for one in entries:
        if id(one) in kept:
            yield from one.lines
    if left := len(entries) - len(kept):
        yield Text(f"  … and {left:,} more", style="dim")


def _entry(item: Chosen, request: MadeRequest, screen: Console) -> _Entry:
    candidate = item.scored.candidate
    stands = candidate.source == _PROFILE or candidate.required
    mark = _ANSWERS if holds_answer(item, request) else _STANDS if stands else _ADDED
    by = {"user": "you"}.get(candidate.role, candidate.role)
    said = candidate.category == "conversation" and not stands
    lead = f"{candidate.created_at:%Y-%m-%d} {plain(candidate.speaker or by)}: " if said else ""
    text = f"{mark} {lead}{plain(' '.join(item.text.split()), 1000)}"
    return _Entry(item, mark, _wrapped(text, screen, _MAX_OF_ANSWER if mark == _ANSWERS else 1, style=_STYLES[mark]))


def _outcome(request: MadeRequest, context: Context) -> str:
    tokens = context.metadata.total_tokens_injected
    parts = [f"answer: {plain(request.answer)}"] if request.answer else []
    if request.evidence:
        count, of = shown_parts(request, context), len(request.evidence)
        parts.append("shown" if _is_answered(request, context) else f"{count} of {of} parts shown" if count else "not shown")
    parts.append(f"{tokens:,} token{'' if tokens == 1 else 's'}")
    if left := len(context.trace.left_out) + len(context.trace.unread):
        parts.append(f"{left:,} left out")
    return f"  {' · '.join(parts)}"


def _is_answered(request: MadeRequest, context: Context) -> bool:
    """Whether what holds the answer is shown: all of what was labelled with an answer, else any part of it."""
    shown = shown_parts(request, context)
    return shown == len(request.evidence) if request.all_needed else shown > 0 or not request.evidence


def _wrapped(text: str, screen: Console, lines: int, *, style: str = "") -> list[Text]:
    """The text in at most so many lines, cut with an ellipsis where it needs more; those below the first are indented."""
    width = max(_INDENT + 2, screen.width)
    if lines == 1 or cell_len(text) <= width:
        return [Text(text if cell_len(text) <= width else _cut(text, width), style=style)]
    first = _broken(text, screen, width)[0]
    found = [first, *(" " * _INDENT + one for one in _broken(text[len(first) :].lstrip(), screen, width - _INDENT))]
    if len(found) > lines:
        found = [*found[: lines - 1], _cut(found[lines - 1], width)]
    return [Text(line.rstrip(), style=style) for line in found]


def _broken(text: str, screen: Console, width: int) -> list[str]:
    """The text in lines: between words, and anywhere where most characters are wide, as those of scripts without spaces."""
    if cell_len(text) > 1.5 * len(text):
        return chop_cells(text, width)
    return [line.plain for line in Text(text).wrap(screen, width)]


def _cut(line: str, width: int) -> str:
    """The line with an ellipsis, cut between words, or within one that is long."""
    kept = set_cell_size(line, width - 2)
    words = kept.rpartition(" ")[0] if line[len(kept) : len(kept) + 1].strip() else kept
    return f"{(words if cell_len(kept) - cell_len(words) <= _MAX_LOST else kept).rstrip()} …"
