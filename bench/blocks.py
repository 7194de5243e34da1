"""Blocks: memory blocks under random editors, rewrites from one reading and hostile contents; and their figures.

    python -m bench blocks [--count 100000] [--seed 1] [--blns naughty-strings.json]

Prints, and ends with 1 where anything is wrong: - editors: `count` random steps of three editors of one block, with undo,
late and doubled deltas, and crashes. In the end all copies are the same, counters are exact, and each edit that was
acknowledged is there; - rewrites: `count` / 10 times two agents rewrite the same text from the same reading. Both edits are
there: without what the one inserted, the text is the other's, less what the one removed; where both replaced the same words,
both replacements are there; - renderings: `count` blocks of hostile contents, of which none may look like structure; -
figures of a block of 5,000 characters: opening, an edit, an undo, and the bytes that are stored after 10,000 edits, with
edits of all sizes and with edits that replace the whole text. The history is consolidated when the deltas have 75 % of the
text's bytes, and keeps at least the last change and at most 100, or as many as have the bytes of the text; - builds for an
agent with 1,000 blocks, by how many of them are of the core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from random import Random

from bench.block_editors import Editors
from bench.block_rendering import forged, generated
from bench.machine import describe
from bench.quantiles import quantile
from germane import Germane
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.mutation import AppendText, ReplaceText, SetText
from germane.kinds.blocks.schema import TextSchema

__all__ = ["editors", "lost", "main", "renderings", "rewrites", "stored"]

_STEPS = 200
"""Steps of one block's life."""
_CHARACTERS = 5_000
_VOCABULARY = tuple(
    f"{first}{second}{third}"
    for first in ("ba", "ko", "li", "mu", "te", "ra")
    for second in ("n", "st", "r", "", "ve", "dle")
    for third in ("ing", "a", "o", "er", "", "s")
)


def editors(count: int, seed: int) -> list[str]:
    """The faults after `count` steps."""
    found = []
    for life in range(count // _STEPS):
        random = Random(f"{seed} {life}")
        block = Editors()
        for _ in range(_STEPS):
            _step(block, random.randrange(3), random)
        block.settle(random)
        found += [f"life {life}: {fault}" for fault in block.faults()]
    return found


def _step(block: Editors, editor: int, random: Random) -> None:
    steps: list[tuple[float, Callable[[], object]]] = [
        (0.45, lambda: block.edit(editor, random)),
        (0.05, lambda: block.edit(editor, random, crash=True)),
        (0.12, lambda: block.undo(editor)),
        (0.06, lambda: block.redo(editor)),
        (0.24, lambda: block.deliver(editor, random)),
        (0.05, lambda: block.crash(editor)),
        (0.03, lambda: block.consolidate(editor)),
    ]
    (step,) = random.choices([one for _, one in steps], weights=[weight for weight, _ in steps])
    step()


def rewrites(count: int, seed: int) -> int:
    """In how many of `count` pairs of rewrites from one reading an edit was lost."""
    return sum(lost(Random(f"{seed} {number}")) for number in range(count))


def lost(random: Random) -> bool:
    """Whether of two rewrites of one text any edit isn't there."""
    base = [f"b{number}" for number in range(random.randint(0, 40))]
    ours, theirs = (_rewritten(base, side, random) for side in ("x", "y"))
    document = BlockDocument.new(TextSchema(), " ".join(base))
    read = document.frontiers()
    document.rewrite(" ".join(ours), read)
    document.rewrite(" ".join(theirs), read)
    result = document.value().split()
    for mine, other in ((ours, theirs), (theirs, ours)):
        gone = set(base) - set(other)
        inserted = set(other) - set(base)
        if [word for word in result if word not in inserted] != [word for word in mine if word not in gone]:
            return True
    return False


def _rewritten(base: Sequence[str], side: str, random: Random) -> list[str]:
    words = list(base)
    for number in range(random.randint(1, 6)):
        start = random.randint(0, len(words))
        words[start : start + random.choice((0, 0, 1, 3, 8))] = [f"{side}{number}n{one}" for one in range(random.randint(0, 4))]
    return words


def renderings(count: int, seed: int, naughty: Sequence[str] = ()) -> list[str]:
    """What was forged in `count` renderings."""
    problems = (forged(generated(Random(f"{seed} {number}"), naughty)) for number in range(count))
    return [f"block {number}: {problem}" for number, problem in enumerate(problems) if problem]


def _text(random: Random, characters: int) -> str:
    words = " ".join(random.choices(_VOCABULARY, k=characters // 3))
    return words[:characters]


def _edited(document: BlockDocument, random: Random, *, whole: bool) -> None:
    kind = random.random()
    text = document.value()
    if whole or kind < 0.05:
        document.apply(SetText(text=_text(random, _CHARACTERS)))
    elif kind < 0.5 and len(text) > 200:
        start = random.randrange(len(text) - 100)
        document.apply(SetText(text=text[:start] + _text(random, 60) + text[start + 60 :]))
    elif kind < 0.7 and text.count(old := text[:80]) == 1:
        document.apply(ReplaceText(old=old, new=_text(random, 80)))
    else:
        document.apply(AppendText(text=" " + _text(random, 40)))
        if len(text) > _CHARACTERS:
            document.apply(SetText(text=document.value()[-_CHARACTERS:]))


def stored(edits: int, seed: int, *, whole: bool) -> tuple[float, list[float], BlockDocument, bytes, list[bytes]]:
    """The most bytes stored at any time during so many edits, as a multiple of the text's; the milliseconds of the edits; the
    document, its snapshot and the deltas since."""
    random = Random(seed)
    document = BlockDocument.new(TextSchema(), _text(random, _CHARACTERS), peer=1)
    snapshot, deltas, most, times = document.snapshot(), list[bytes](), 0.0, list[float]()
    versions = [(document.frontiers(), 0)]
    for _ in range(edits):
        began = time.perf_counter()
        draft = document.fork()
        _edited(draft, random, whole=whole)
        delta = draft.delta(document.frontiers())
        times.append(1_000 * (time.perf_counter() - began))
        document = draft
        deltas.append(delta)
        versions.append((document.frontiers(), len(delta)))
        size = len(document.value().encode())
        most = max(most, (len(snapshot) + sum(map(len, deltas))) / size)
        if len(deltas) >= 64 or sum(map(len, deltas)) >= 0.75 * size:
            kept, total = 1, versions[-1][1]
            while kept < min(100, len(versions) - 1) and total + versions[-1 - kept][1] <= size:
                total, kept = total + versions[-1 - kept][1], kept + 1
            versions = versions[-1 - kept :]
            snapshot, deltas = document.snapshot(versions[0][0]), []
            document = BlockDocument.load(TextSchema(), snapshot, peer=1)
    return most, times, document, snapshot, deltas


def _figures(edits: int, seed: int) -> bool:
    fine = True
    for whole in (False, True):
        most, times, document, snapshot, deltas = stored(edits, seed, whole=whole)
        fine = fine and most <= 5
        opened = []
        for _ in range(200):
            began = time.perf_counter()
            BlockDocument.load(TextSchema(), snapshot, deltas).text()
            opened.append(1_000 * (time.perf_counter() - began))
        before = document.frontiers()
        document.apply(AppendText(text=" undone"))
        began = time.perf_counter()
        document.inverse(before, document.frontiers())
        undone = 1_000 * (time.perf_counter() - began)
        name = "edits of the whole text" if whole else "edits of all sizes"
        print(
            f"{name}: stored at most {most:.1f}× the text over {edits:,}; edit p50 {quantile(times, 50):.2f} ms,"
            f" p99 {quantile(times, 99):.2f}; open p50 {quantile(opened, 50):.2f} ms, p99 {quantile(opened, 99):.2f};"
            f" undo {undone:.2f} ms"
        )
    return fine


async def _written_through(edits: int, folder: Path) -> None:
    """Prints the time of an edit of a block of 5,000 characters that is written to a file, with its search rows."""
    text = ("UNIQUE " + "The quick brown fox jumps over the lazy dog. " * 112)[:4_990]
    async with Germane.open(folder / "edits.db", warm=False) as germane:
        agent = germane.agent("bench")
        await agent.blocks.create("notes", text=text, limit=10_000)
        words = ("UNIQUE", "SINGLE")
        ways: Mapping[str, Callable[[int], Awaitable[object]]] = {
            "a word replaced": lambda number: agent.blocks.replace("notes", words[number % 2], words[1 - number % 2]),
            "text appended": lambda number: agent.blocks.append("notes", f"{number % 10}"),
            "the whole text": lambda number: agent.blocks.set_text("notes", f"{text[:-5]}{number:05d}"),
        }
        for name, edit in ways.items():
            times, before = list[float](), time.process_time()
            for number in range(edits):
                began = time.perf_counter()
                await edit(number)
                times.append(1_000 * (time.perf_counter() - began))
            worked = 1_000 * (time.process_time() - before) / edits
            print(
                f"edit in a file, {name}: p50 {quantile(times, 50):.2f} ms, p99 {quantile(times, 99):.2f};"
                f" processor {worked:.2f}"
            )


async def _building(core: int, blocks: int, calls: int, folder: Path) -> None:
    """Prints the time of a build for an agent with so many blocks, of which `core` are of the core, and the others are not
    referenced."""
    async with Germane.open(folder / f"{core}.db", warm=False) as germane:
        agent = germane.agent("bench")
        for number in range(blocks):
            kind = "core" if number < core else "working"
            await agent.blocks.create(f"block-{number}", type=kind, text=f"Fact {number} holds.")
        await agent.warm()
        builder = agent.builder().with_model("gpt-4o").with_messages([{"role": "user", "content": "What holds?"}])
        times, worked, shown = list[float](), 0.0, 0
        for call in range(-10, calls):
            began, before = time.perf_counter(), time.process_time()
            built = await builder.build()
            if call >= 0:
                times.append(1_000 * (time.perf_counter() - began))
                worked += 1_000 * (time.process_time() - before)
                shown = len(built.metadata.blocks)
    print(
        f"build with {blocks:,} blocks, {core:,} of the core, {shown:,} shown: p50 {quantile(times, 50):.1f} ms,"
        f" p99 {quantile(times, 99):.1f}; processor {worked / calls:.1f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench blocks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blns", type=Path)
    options = parser.parse_args(arguments)
    naughty = json.loads(options.blns.read_text("utf-8")) if options.blns else ()
    print(describe())
    faults = editors(options.count, options.seed)
    print(f"editors: {options.count:,} steps, {len(faults)} faults {faults[:3]}")
    missing = rewrites(options.count // 10, options.seed)
    print(f"rewrites: {options.count // 10:,} pairs from one reading, {missing} with a lost edit")
    found = renderings(options.count, options.seed, naughty)
    print(f"renderings: {options.count:,} of hostile contents, {len(found)} forged {found[:3]}")
    fine = _figures(min(10_000, options.count), options.seed)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_written_through(200, Path(folder)))
        for core in (10, 100, 1_000):
            asyncio.run(_building(core, 1_000, 100, Path(folder)))
    return int(bool(faults or missing or found or not fine))


if __name__ == "__main__":
    raise SystemExit(main())
