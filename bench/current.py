"""Current: whether a context shows what holds now, and nothing outdated unmarked, over generated histories in seven languages.

    python -m bench current
    python -m bench current --held-out --show 5

A history is a chat of some weeks in which a home, an employer, a price or a date changes one to four times, among statements
about other people and things and among small talk. It is asked what holds now, within 1,000 tokens: through `assemble` with the
memories that the rules extract, through `assemble` with messages alone, and through `about`. A value that was replaced counts
as outdated and unmarked where an item states it, isn't marked as outdated and doesn't stand among what ended. The phrases of
the held-out histories are others than those for development (`histories.toml`).
"""

from __future__ import annotations

import argparse
import asyncio
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

from germane import Agent, Germane
from germane.text.normal import fold
from germane.types.candidate import Chosen

__all__ = ["History", "histories", "main"]

_DOUBLE = {"home": "cities", "employer": "firms"}
_SINGLE = {"price": ("things", "prices"), "date": ("events", "days")}
_START = datetime(2024, 1, 8, 9, tzinfo=UTC)
_SESSION_LENGTH = 12
Way = Literal["with memories", "messages alone", "about"]
WAYS: tuple[Way, ...] = ("with memories", "messages alone", "about")


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """`messages` are dicts with times, `values` what held in turn: the last one holds now. `name` is what the question is
    about; empty where it is about the one who asks."""

    language: str
    kind: str
    messages: tuple[dict[str, Any], ...]
    question: str
    name: str
    values: tuple[str, ...]
    stated: tuple[str, ...]
    """The messages that state the values."""


@cache
def _languages() -> Mapping[str, Any]:
    return tomllib.loads((Path(__file__).parent / "histories.toml").read_text("utf-8"))


def histories(count: int, *, held_out: bool, seed: int = 1) -> list[History]:
    """Returns `count` histories, the languages and kinds in turn."""
    names, kinds = list(_languages()), (*_DOUBLE, *_SINGLE)
    return [
        _history(names[number % len(names)], kinds[number // len(names) % len(kinds)], held_out, Random(f"{seed} {number}"))
        for number in range(count)
    ]


def _history(language: str, kind: str, held_out: bool, random: Random) -> History:
    words = _languages()[language]
    people = random.sample(words["people"], 4)
    named = random.random() < 0.7
    own = kind in _DOUBLE and random.random() < 0.5
    who, thing, values = people[0], "", []
    if kind in _DOUBLE:
        values = random.sample(words[_DOUBLE[kind]], random.randint(2, 5))
    else:
        things, amounts = _SINGLE[kind]
        thing, values = random.choice(words[things]), random.sample(words[amounts], random.randint(2, 5))
    by = who if own or kind in _SINGLE else people[1]
    stated = [(by, _say(words, kind, own, held_out, random, who, thing, value)) for value in values]
    lines = _among(stated, _beside(words, kind, held_out, random, people, thing), random)
    side = f"_{'own' if own else 'other'}" if kind in _DOUBLE else ""
    asks_own = own and not named
    question = words[f"ask_{kind}{'_own' if asks_own else '_other'}" if side else f"ask_{kind}"].format(who=who, thing=thing)
    messages = tuple(
        {"role": "user", "content": text, "created_at": _START + timedelta(hours=31 * index)} | ({"name": by} if named else {})
        for index, (by, text) in enumerate(lines)
    )
    return History(
        language=language,
        kind=kind,
        messages=messages,
        question=question,
        name="" if asks_own else who if kind in _DOUBLE else thing,
        values=tuple(values),
        stated=tuple(text for _, text in stated),
    )


def _say(words: Any, kind: str, own: bool, held_out: bool, random: Random, who: str, thing: str, value: str) -> str:
    forms = words[f"{kind}_{'own' if own else 'other'}" if kind in _DOUBLE else kind]
    half = len(forms) // 2
    text: str = random.choice(forms[half:] if held_out else forms[:half]).format(who=who, thing=thing, value=value)
    return text[:1].upper() + text[1:]


def _beside(words: Any, kind: str, held_out: bool, random: Random, people: Sequence[str], thing: str) -> list[tuple[str, str]]:
    """What is said besides: the same of other people or things, other things of the same person, and small talk."""
    said = [(random.choice(people), text) for text in random.sample(words["small"], 6)]
    for other, attribute in _DOUBLE.items():
        whom = [people[2]] if other == kind else [people[2], people[0]]
        values = random.choices(words[attribute], k=len(whom))
        told = zip(whom, values, strict=True)
        said += [(people[1], _say(words, other, False, held_out, random, who, "", value)) for who, value in told]
    for other, (things, amounts) in _SINGLE.items():
        what = random.choice([one for one in words[things] if one != thing])
        text = _say(words, other, False, held_out, random, "", what, random.choice(words[amounts]))
        said.append((random.choice(people), text))
    return said


def _among(lines: list[tuple[str, str]], others: list[tuple[str, str]], random: Random) -> list[tuple[str, str]]:
    """Both mixed; the order within `lines` stays."""
    places = sorted(random.sample(range(len(lines) + len(others)), len(lines)))
    random.shuffle(others)
    mixed, left = list(others), iter(lines)
    for place in places:
        mixed.insert(place, next(left))
    return mixed


@dataclass(frozen=True, slots=True)
class Verdict:
    """`missing`: the current value isn't shown. `unmarked`: the replaced values that are shown as if they held."""

    missing: bool
    unmarked: tuple[str, ...]

    @property
    def right(self) -> bool:
        return not self.missing and not self.unmarked


def _judge(history: History, shown: Sequence[Chosen]) -> Verdict:
    *earlier, current = history.values
    about = [item for item in shown if _states(history, item)]
    missing = not any(current in item.text for item in about)
    unmarked = [
        value
        for item in about
        for value in earlier
        if value in item.text and item.category != "earlier" and item.scored.candidate.outdated is None
    ]
    return Verdict(missing, tuple(unmarked))


def _states(history: History, item: Chosen) -> bool:
    """Whether the item is a statement about what is asked, or a memory made of one: others may hold the same value."""
    if item.category == "conversation":
        return item.text in history.stated
    subject = "-".join(fold(history.name or "user").split())
    return subject in item.text.split(":")[0].replace(" ", ".").split(".")


async def _ask(history: History, way: Way) -> Verdict:
    async with Germane.open(":memory:", extraction=way != "messages alone") as germane:
        agent = germane.agent("bench")
        for start in range(0, len(history.messages), _SESSION_LENGTH):
            part = history.messages[start : start + _SESSION_LENGTH]
            await agent.record(part, session=f"s{start}")
        at = history.messages[-1]["created_at"] + timedelta(days=1)
        return _judge(history, await _shown(agent, history, way, at))


async def _shown(agent: Agent, history: History, way: Way, at: datetime) -> Sequence[Chosen]:
    if way == "about":
        found = await agent.about(history.name or "user", at=at)
        return (*found.current, *found.earlier, *found.mentions)
    asked = [{"role": "user", "content": history.question}]
    context = await agent.assemble(asked, model="gpt-4o", max_tokens=1000, at=at, deadline=None)
    return context.items


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench current", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--held-out", action="store_true", help="phrases that rules weren't fitted to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print so many wrong answers of each way")
    options = parser.parse_args(arguments)
    asked = histories(options.count, held_out=options.held_out, seed=options.seed)
    print("| | right | current shown | outdated unmarked |", "| --- | --- | --- | --- |", sep="\n")
    for way in WAYS:
        answers = [(one, asyncio.run(_ask(one, way))) for one in asked if way != "about" or one.name]
        _print(way, answers)
        for group in dict.fromkeys(one.language for one in asked):
            _print(f"· {group}", [(one, found) for one, found in answers if one.language == group])
        for kind in dict.fromkeys(one.kind for one in asked):
            _print(f"· {kind}", [(one, found) for one, found in answers if one.kind == kind])
        for one, found in [pair for pair in answers if not pair[1].right][: options.show]:
            print(f"    {one.question} {one.values} {found}")
            print("".join(f"      {message.get('name', '')}: {message['content']}\n" for message in one.messages))


def _print(label: str, answers: Sequence[tuple[History, Verdict]]) -> None:
    right, shown, wrong = (
        100 * sum(map(which, answers)) / len(answers)
        for which in (lambda one: one[1].right, lambda one: not one[1].missing, lambda one: bool(one[1].unmarked))
    )
    print(f"| {label} | {right:.1f} | {shown:.1f} | {wrong:.1f} |")
