"""Pasted: how many pastes become something of the user's, and how many ordinary statements are found.

    python -m bench pasted [--count 300] [--seed 36] [--errors]

Pastes are of ten kinds in eight languages, made of the pieces of `pasted.toml`: alone, introduced, asked about below, in a
fence or in quotation marks. Each is recorded as the only message of a user. A paste counts as taken where its words stand in a
memory, a line of the profile, or a relation; apart from that, those are counted whose words bind the session's task, so that
they survive a compaction. A statement counts as found where a memory or a line of the profile holds its word. Every third
stands beside a paste, whose words must not be found. `pasted_whole.txt` holds 433 more pastes, of more kinds and written one by
one, most of them without any mark, and 95 ordinary messages that look a little like pastes; they are counted apart.
"""

from __future__ import annotations

import argparse
import asyncio
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.machine import describe
from germane import Germane
from germane.api.agent import Agent
from germane.compaction.reading.statements import constraints_in
from germane.extraction.archetypes.extractors import names
from germane_testing.builders import an_event

__all__ = ["Said", "main", "measured", "pastes", "statements", "whole"]

CANARY = "zuqqel"
"""A word that nothing but a paste holds."""
_ALLOWED = 0.02
KINDS = ("email", "transcript", "readme", "table", "subtitles", "prompt", "chat", "article", "terms", "post")
_PIECES: Mapping[str, Mapping[str, Any]] = tomllib.loads((Path(__file__).parent / "pasted.toml").read_text("utf-8"))
_SAID = _PIECES["said"]
_LANGUAGES = ("en", "de", "en", "fr", "es", "en", "ru", "ja", "en", "zh", "it", "de")
_QUOTES = ("“”", "«»", "„“", "「」", '""')


class Said(NamedTuple):
    """A message; `word` is what is found where what it says is."""

    kind: str
    text: str
    word: str


class Measured(NamedTuple):
    """The pastes that became the user's, those that bind the task, the statements that were found, and those with which a
    paste's words became the user's."""

    pastes: list[Said]
    binding: list[Said]
    statements: list[Said]
    beside: list[Said]


def pastes(count: int, seed: int) -> Iterator[Said]:
    """Yields made pastes, the kinds in turn."""
    chance = Random(seed)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        pieces = _PIECES[_LANGUAGES[number // len(KINDS) % len(_LANGUAGES)]]
        yield Said(kind, _framed(_filled(str(chance.choice(pieces[kind])), pieces, chance), pieces, chance), CANARY)


def statements(count: int, seed: int) -> Iterator[Said]:
    """Yields made statements, every third beside a paste."""
    chance = Random(seed)
    for number in range(count):
        place = number % len(_SAID["statements"])
        said, word = _SAID["statements"][place]
        english = place < _SAID["english"]
        frames = _SAID["beside"] if number % 3 == 2 else _SAID["frames"] if english else _SAID["plain_frames"]
        text = _filled(str(chance.choice(frames)), _PIECES["en"], chance).replace("{s}", said)
        yield Said("beside" if number % 3 == 2 else "said", text, word)


def whole() -> Iterator[Said]:
    """Yields the messages of `pasted_whole.txt`."""
    for part in (Path(__file__).parent / "pasted_whole.txt").read_text("utf-8").split("\n=== ")[1:]:
        head, _, text = part.partition("\n")
        kind, _, word = head.partition(" ")
        yield Said(kind, text.rstrip("\n"), word or CANARY)


def _filled(text: str, pieces: Mapping[str, Any], chance: Random) -> str:
    order, other = chance.sample(pieces["orders"], 2)
    fact = chance.choice(pieces["facts"])
    text = text.replace("{o}", order).replace("{p}", other).replace("{f}", fact)
    while "{t}" in text:
        text = text.replace("{t}", chance.choice(pieces["filler"]), 1)
    return text.replace("{w}", CANARY.capitalize())


def _framed(text: str, pieces: Mapping[str, Any], chance: Random) -> str:
    frame = chance.random()
    if frame < 0.08:
        text = f"```\n{text}\n```"
    elif frame < 0.15:
        marks = chance.choice(_QUOTES)
        opening, closing = marks[0], marks[1]
        text = f"{opening}{text}{closing}" if closing not in text and opening not in text else text
    if frame < 0.5:
        return text
    if frame < 0.85:
        return f"{chance.choice(pieces['intros'])}{chance.choice((chr(10), chr(10) * 2))}{text}"
    return f"{text}\n\n{chance.choice(pieces['outros'])}"


async def measured(messages: Iterable[Said]) -> Measured:
    """Records pastes and statements, each as the only message of a user, and returns those whose word was found."""
    seen = Measured([], [], [], [])
    async with Germane.open(":memory:", entities=True, warm=False) as germane:
        for number, said in enumerate(messages):
            agent = germane.agent("bench", user=f"u{number}")
            await agent.record([{"role": "user", "content": said.text}], session="s")
            what = await _of_the_user(agent, said.text)
            if said.word == CANARY:
                seen.pastes.extend([said] if CANARY in what else [])
                seen.binding.extend([said] if any(CANARY in one.text.lower() for one in constraints_in(said.text)) else [])
            else:
                seen.statements.extend([said] if said.word in what else [])
                seen.beside.extend([said] if CANARY in what else [])
    return seen


async def _of_the_user(agent: Agent, text: str) -> str:
    """Everything that the message became, in lower case."""
    memories = (await agent.memories.list(limit=50)).memories
    profile = await agent.profile()
    lines = [line.text for line in (*profile.lines, *profile.left_out)]
    return "\n".join([*(memory.text for memory in memories), *lines, *_relations(text)]).lower()


def _relations(text: str) -> Iterator[str]:
    """The names that the rules relate with one another, where the message is said by somebody with a name."""
    event = an_event(text, user="u", name="Jo")
    for one in names(event, ()).relations:
        yield f"{one.source.name} {one.type} {one.target.name}"


def main(argv: list[str] | None = None) -> int:
    """Measures and prints shares, by kind. Returns 1 where more than 2 % of the pastes were taken."""
    parser = argparse.ArgumentParser(prog="python -m bench pasted", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=300, help="pastes, and statements")
    parser.add_argument("--seed", type=int, default=36)
    parser.add_argument(
        "--errors", action="store_true", help="also print what was taken, and the statements that weren't found"
    )
    options = parser.parse_args(argv)
    print(describe())
    began = time.process_time()
    seen = asyncio.run(measured([*pastes(options.count, options.seed), *statements(options.count, options.seed)]))
    print(f"pastes taken: {len(seen.pastes)} of {options.count} ({100 * len(seen.pastes) / options.count:.1f} %)")
    for kind, number in Counter(one.kind for one in seen.pastes).most_common():
        print(f"  {number} {kind}")
    print(f"pastes that bind the task: {len(seen.binding)}")
    by_kind, total = (
        Counter(one.kind for one in seen.statements),
        Counter(one.kind for one in statements(options.count, options.seed)),
    )
    print(f"statements found: {len(seen.statements)} of {options.count} ({100 * len(seen.statements) / options.count:.1f} %)")
    for kind in total:
        print(f"  {by_kind[kind]} of {total[kind]} {kind}")
    print(f"pastes beside statements taken: {len(seen.beside)} of {total['beside']}")
    hard = list(whole())
    others = asyncio.run(measured(hard))
    foreign = sum(one.word == CANARY for one in hard)
    print(f"pastes written one by one that were taken: {len(others.pastes)} of {foreign}")
    print(f"ordinary messages that look a little like one, found: {len(others.statements)} of {len(hard) - foreign}")
    print(f"{time.process_time() - began:.1f} s of processor time")
    if options.errors:
        found = {one.text for one in seen.statements}
        for one in [*seen.pastes, *seen.beside, *others.pastes]:
            print(f"--- taken: {one.kind}\n{one.text}")
        for one in statements(options.count, options.seed):
            if one.text not in found:
                print(f"--- not found: {one.word}\n{one.text}")
    return int(len(seen.pastes) > _ALLOWED * options.count)
