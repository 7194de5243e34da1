"""Demo: imports a conversation, asks a few requests, each in its own conversation, and prints what each was given.

The conversation is the sample or whatever `germane import` takes. Its requests are the labelled ones that come with it;
where it has none, they are made from what the store holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from germane.cli.files import read_bytes
from germane.cli.hints import counts_text, largest_holding
from germane.cli.imports import Row, read
from germane.cli.imports.detect_format import parse_json
from germane.cli.imports.load import ExportFile, load
from germane.cli.imports.locomo import ADVERSARIAL, questions
from germane.cli.imports.store_rows import ImportTally, store_rows
from germane.cli.made_requests import MadeRequest, requests_of, thanks
from germane.cli.options import GlobalOptions
from germane.cli.screen import console, plain, progress
from germane.errors import InvalidInput
from germane.types.candidate import Chosen
from germane.types.context import Context

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane


class DemoSettings(NamedTuple):
    """How the contexts are assembled. `asked` are the caller's own requests; without any, the conversation's or made ones."""

    model: str = "gpt-4o"
    max_tokens: int | None = None
    strategy: str = "default"
    asked: tuple[MadeRequest, ...] = ()


async def tour(
    options: GlobalOptions, conversation: DemoConversation, settings: DemoSettings
) -> tuple[GlobalOptions, list[tuple[MadeRequest, Context]]]:
    """Returns the options of the scope that was asked, and each request with its context; prints them unless --json is given.
    Raises `InvalidInput` where nothing could be imported."""
    screen, answers = console(), list[tuple[MadeRequest, Context]]()
    async with options.open_store(create=True, warm=True) as (germane, agent):
        broken = await _import(germane, agent, options, conversation)
        held = await largest_holding(germane) if not (stored := await agent.stats()).messages and not stored.memories else None
        if held is not None:
            options = replace(options, org=held.org, agent=held.agent, user=held.user)
            agent = germane.agent(held.agent, org=held.org, user=held.user, zone=options.zone)
        if not ((stored := await agent.stats()).messages or stored.memories):
            raise InvalidInput(f"nothing in it could be used{f': {broken[0]}' if broken else ''}")
        if not options.json:
            kept = counts_text(sum(stored.memories.values()), stored.messages)
            talks = f" in {stored.sessions} {'conversation' if stored.sessions == 1 else 'conversations'}"
            _print_import(screen, f"Imported: {kept}{talks if stored.sessions else ''}.", broken)
            print_legend(screen)
        at = await _hour_after_last(agent)
        for number, request in enumerate(settings.asked or conversation.requests or await requests_of(agent), start=1):
            context = await agent.assemble(
                [{"role": "user", "content": request.text}],
                model=settings.model,
                session=f"demo {uuid4()}",  # one of its own: an earlier demo's text stands in no prompt of this one
                at=request.at or at,
                deadline=None,
                max_tokens=settings.max_tokens,
                strategy=settings.strategy,
            )
            answers.append((request, context))
            if not options.json:
                print_answer(screen, number, request, context)
    return options, answers


async def _import(germane: Germane, agent: Agent, options: GlobalOptions, conversation: DemoConversation) -> list[str]:
    """Stores the conversation; returns why some of it can't be used."""
    loaded = conversation.loaded
    with progress(options.json) as bar:
        total = loaded.total if isinstance(loaded, ExportFile) else len(loaded[1])
        task = bar.add_task("importing", total=total)
        if isinstance(loaded, ExportFile):
            advance = partial(bar.advance, task)
            restored = await loaded.restore(germane, None, skip_conflicts=True, advance=advance)
            return [f"line {number}: something else is stored in its place" for number in restored.conflicts]
        tally = ImportTally()
        shared = options.agent_wide(germane)
        await store_rows(loaded[1], agent, shared, lambda _: agent, tally, partial(bar.advance, task))
        return tally.broken


def _print_import(screen: Console, line: str, broken: list[str]) -> None:
    screen.print(line)
    if broken:
        screen.print(Text(f"{len(broken)} rows can't be used, the first: {plain(broken[0], 160)}", style="yellow"))


async def _hour_after_last(agent: Agent) -> datetime | None:
    """An hour after the last message: relative to today, an old conversation would lose all its recency."""
    last = (await agent.messages(limit=1, whole=False)).messages
    return last[0].created_at + timedelta(hours=1) if last else None


# What the demo imports, and the labelled requests that come with it.


_CATEGORIES = ("", "several things", "a time", "a conclusion", "one thing")
_LABELLED = 4


class DemoConversation(NamedTuple):
    """What is imported, and the requests that come with it: none where they are made from the store."""

    loaded: ExportFile | tuple[str, list[Row]]
    requests: tuple[MadeRequest, ...] = ()


def sample() -> DemoConversation:
    """The included talk of one person with an assistant, and five requests with their answers."""
    folder = files("germane.cli") / "sample"
    form, rows = read((folder / "conversation.jsonl").read_bytes(), "sample")
    asked = json.loads((folder / "requests.json").read_text(encoding="utf-8"))
    at = datetime.fromisoformat(asked["at"])
    labels = ({**one, "evidence": tuple(one.get("evidence", ()))} for one in asked["requests"])
    requests = (MadeRequest(at=at, all_needed=True, **one) for one in labels)
    return DemoConversation((form, list(rows)), tuple(requests))


def load_conversation(path: str) -> DemoConversation:
    """What a file, a folder or standard input holds; a LoCoMo file's own questions. Raises `InvalidInput`."""
    found = load(path)
    loaded = (found[0], list(found[1])) if isinstance(found, tuple) else found
    labelled = isinstance(loaded, tuple) and loaded[0] == "locomo" and Path(path).suffix == ".json"
    return DemoConversation(loaded, _labelled(parse_json(read_bytes(path))) if labelled else ())


def _labelled(document: Mapping[str, Any]) -> tuple[MadeRequest, ...]:
    """The first question of each of four categories of a LoCoMo file, so that they differ in kind."""
    first = {one.category: one for one in reversed(list(questions(document))) if one.category != ADVERSARIAL}
    asked = [
        MadeRequest(text=one.question, kind=_CATEGORIES[category], answer=one.answer, evidence=one.evidence, all_needed=True)
        for category, one in sorted(first.items())
        if category < len(_CATEGORIES)
    ]
    return (*asked[:_LABELLED], thanks()) if asked else ()


# What a request was given: what answers it, the lines that are always shown, and what else is worth its tokens.


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
