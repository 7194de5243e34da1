"""Demo: imports a conversation, asks a few requests, each in its own conversation, and prints what each was given.

The conversation is the sample or whatever `germane import` takes. Its requests are the labelled ones that come with it;
where it has none, they are made from what the store holds.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, partial
from importlib.resources import files
from itertools import pairwise
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
from germane.cli.options import GlobalOptions
from germane.cli.screen import console, plain, progress
from germane.errors import InvalidInput
from germane.types.candidate import Chosen
from germane.types.context import Context
from germane.types.query import Filters

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane
    from germane.kinds.events.value import Event
    from germane.kinds.memories.value import Memory


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


# Requests that a store can answer, made from what it holds, in its language; the same each time.


_MAX_LOOKED_AT, _MAX_READ = 1000, 300
"""Messages and memories that are looked at, and messages in which people are looked for."""
_MAX_REQUESTS = 4
"""Requests besides the last one, which gives thanks."""
_MIN_QUESTION, _MAX_QUESTION = 8, 160
"""Characters of a question that was asked already and is asked again."""
_FACTS = ("home", "employer", "job", "birthday", "diet", "allergy", "favourite", "relationship")
"""Parts of keys of facts, those first that people ask for."""
_MAX_WORD_MESSAGES = 4
"""Messages with one word, beyond which it isn't more telling."""
_OWN = "user"
_THINGS = ("place", "organisation", "tool")
_NOUN = re.compile(
    r"\b(?:the|my|our|der|die|das|den|mein|meine|meinen|le|la|les|mon|ma|mes|el|los|las|mi|mis|il|lo|mio|mia|o|os|meu|minha|de"
    r"|het|mijn) ([^\W\d_]{4,24})\b"
)


class _Text(NamedTuple):
    """Something that the user said, and under which name; or else something that is remembered, and its title."""

    id: str
    text: str
    speaker: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeRequest:
    """A request, what kind it is, and where known its answer in words and the ids of the messages or memories that hold it:
    germane's own, or those of the file, of which all are needed or any one is enough. `at` is when it is asked."""

    text: str
    kind: str = ""
    answer: str = ""
    evidence: tuple[str, ...] = ()
    all_needed: bool = False
    at: datetime | None = None


async def requests_of(agent: Agent) -> list[MadeRequest]:
    """Returns at most five requests in the language of the store: facts, a changed value, a person, a day, something to which
    an instruction applies, a question that was asked before, and thanks."""
    everything = Filters(sensitivities=("public", "private"), with_history=True)
    memories = (await agent.memories.list(everything, limit=_MAX_LOOKED_AT)).memories
    said = (await agent.messages(filters=Filters(), limit=_MAX_LOOKED_AT, whole=False)).messages[::-1]
    own = [one for one in said if one.role == "user"]
    texts = [_Text(one.id, one.text, one.name) for one in own] or [
        _Text(one.id, one.text, title=_title(one)) for one in memories
    ]
    wording = _wording(texts)
    asked = dict[str, MadeRequest]()
    for one in (*_remembered(wording, memories), *_told(wording, texts), *_a_day(wording, own), *_asked_before(said)):
        if one.text not in {other.text for other in asked.values()}:
            asked.setdefault(one.kind, one)
    return [*list(asked.values())[:_MAX_REQUESTS], thanks(wording)]


def thanks(wording: Mapping[str, str] | None = None) -> MadeRequest:
    """The last request, which needs nothing; in English by default."""
    return MadeRequest(text=(wording or _wordings()["english"])["thanks"], kind="thanks")


def _remembered(wording: Mapping[str, str], memories: Sequence[Memory]) -> Iterator[MadeRequest]:
    """What facts and instructions answer."""
    changed = next(_changed(wording, memories), None)
    taken = changed.text if changed else ""
    yield from (one for one in _facts(wording, memories) if one.text != taken)
    rules = [one for one in memories if one.kind == "behavior" and one.valid_to is None]
    if rules:
        evidence = tuple(id for one in rules for id in _ids(one))
        yield MadeRequest(text=wording["applies"], kind="an instruction that applies", evidence=evidence)
    if changed is not None:
        yield changed


def _told(wording: Mapping[str, str], texts: Sequence[_Text]) -> Iterator[MadeRequest]:
    """What was said of a person, of something else that has a name, or else of what a word stands for."""
    for kind, name in _named(texts):
        holding = tuple(one.id for one in texts if name in one.text or name == one.speaker)
        yield MadeRequest(text=wording["person"].format(name=name), kind=kind, evidence=holding)


def _facts(wording: Mapping[str, str], memories: Sequence[Memory]) -> Iterator[MadeRequest]:
    """What holds now of the user, by the facts that rules or the caller named so."""
    facts = [(_parts(one), one) for one in memories if one.kind == "fact" and one.valid_to is None]
    for name in _FACTS:
        for parts, one in facts:
            if name in wording and parts[:1] == [_OWN] and name in parts[1:2]:
                asked = wording[name].format(of=" ".join(parts[2:]).replace("-", " "))
                yield MadeRequest(text=asked, kind="a fact, in other words", evidence=_ids(one), answer=_value(one))


def _changed(wording: Mapping[str, str], memories: Sequence[Memory]) -> Iterator[MadeRequest]:
    """Facts of which an earlier value was superseded, the latest first."""
    known = {one.id: one for one in memories if one.kind == "fact"}
    for one in memories:
        now = known.get(one.superseded_by or "")
        if now is not None and now.valid_to is None:
            parts = _parts(now)
            of = " ".join(parts[1:] if parts[0] == _OWN else parts).replace("-", " ")
            asked = wording[parts[1]] if parts[0] == _OWN and parts[1] in wording and "{" not in wording[parts[1]] else ""
            text = asked or wording["fact"].format(of=of)
            yield MadeRequest(text=text, kind="a value that changed", evidence=_ids(now), answer=_value(now))


def _named(texts: Sequence[_Text]) -> Iterator[tuple[str, str]]:
    """The person and the other name that come most often, the first of several; without other names, a long word that comes
    often behind an article. Each with what it is."""
    from germane.kinds.graph.extraction.entities import extract_entities

    people, others, words = Counter[str](), Counter[str](), Counter[str]()
    for one in texts[-_MAX_READ:]:
        found = extract_entities(one.text)
        people.update({each.name for each in found if each.type == "person"} | ({one.speaker} - {""}))
        others.update({each.name for each in found if each.type in _THINGS} | ({one.title} - {""}))
        words.update(set(_NOUN.findall(one.text)))
    for kind, counted in (("a person", people), ("something named", others)):
        for name, _ in counted.most_common(1):
            yield kind, name
    if words and not others:
        yield "a word of yours", max((min(count, _MAX_WORD_MESSAGES), len(word), word) for word, count in words.items())[2]


def _a_day(wording: Mapping[str, str], own: Sequence[Event]) -> Iterator[MadeRequest]:
    """The middle one of the days on which the user said something."""
    days = sorted({one.created_at.date() for one in own})
    if len(days) > 1:
        day = days[(len(days) - 1) // 2]
        evidence = tuple(one.id for one in own if one.created_at.date() == day)
        yield MadeRequest(text=wording["day"].format(day=day.isoformat()), kind="a named day", evidence=evidence)


def _asked_before(said: Sequence[Event]) -> Iterator[MadeRequest]:
    """Questions of the user's that were answered, the last, the first and the middle one of them; each a kind of its own."""
    answered = [
        (one, reply)
        for one, reply in pairwise(said)
        if one.role == "user" and reply.session == one.session and _question(one.text)
    ]
    numbers = dict.fromkeys((len(answered) - 1, 0, (len(answered) - 1) // 2)) if answered else {}
    for count, number in enumerate(numbers):
        asked, reply = answered[number]
        again = ("again", "once more", "a third time")[count]
        kind = f"a question that was asked before, {again}" if count else "a question that was asked before"
        yield MadeRequest(text=_question(asked.text), kind=kind, evidence=(reply.id,))


def _question(text: str) -> str:
    """The question that a message ends with; empty where it ends with none."""
    line = text[-_MAX_QUESTION:].strip()
    if not line.endswith(("?", "？", "؟")):
        return ""
    begins = max(line.rfind(mark, 0, len(line) - 1) for mark in (". ", "! ", "? ", "\n", "。", "！", "？", ": ")) + 1
    asked = line[begins:].strip()
    whole = begins > 0 or len(text) <= _MAX_QUESTION
    return asked if whole and len(asked) >= _MIN_QUESTION and '"' not in asked else ""


def _parts(memory: Memory) -> list[str]:
    return str(getattr(memory.content, "key", "")).split(".")


def _title(memory: Memory) -> str:
    return str(getattr(memory.content, "title", ""))


def _value(memory: Memory) -> str:
    return str(getattr(memory.content, "value", ""))


def _ids(memory: Memory) -> tuple[str, ...]:
    """Its id, and those of the messages that it was found in."""
    return (memory.id, *memory.derived_from)


def _wording(texts: Sequence[_Text]) -> Mapping[str, str]:
    from germane.text.language import detect, of_script

    sample = "\n".join(one.text[:200] for one in texts[-_MAX_READ:])
    known = _wordings()
    wide = Counter(_script(letter) for letter in sample if letter > "\u0400")
    if wide and wide.total() > len(sample) // 4:
        kana = any("\u3040" <= letter <= "\u30ff" for letter in sample)
        script = wide.most_common(1)[0][0]
        found = ("japanese" if kana else "chinese") if script == "han" else of_script(script)
    else:
        found = detect(sample)
    return {**known["english"], **known.get(found or "", {})}


def _script(letter: str) -> str:
    return "han" if "\u3040" <= letter <= "\u9fff" else letter


@cache
def _wordings() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((files("germane.cli") / "made_requests.toml").read_text(encoding="utf-8"))
