"""Embedders: what the embedders without a network do with many texts and many scripts: `distilled`, and `static` if installed.

    python -m bench embedders [DATA ...]

In `scripts.toml` stand five facts and five questions in each of thirteen scripts. A question counts if its own fact is the
nearest of the five, by vectors alone; questions share words, or parts of them, with their facts. For each data set all its
messages are embedded, in batches of 64, by each embedder in turn, seven times; reported is the median rate in texts a second of
processor time. Each time begins with a loaded table and empty caches of words. The time to load the table is that of this
process alone.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.machine import describe
from germane.errors import MissingExtra
from germane.models.embedders.distilled import Distilled
from germane.models.embedders.static import Static
from germane_eval.formats import load

__all__ = ["main", "nearest"]

_SCRIPTS = Path(__file__).parent / "scripts.toml"
_ROUNDS, _BATCH = 7, 64


def nearest(embedder: Distilled | Static) -> dict[str, int]:
    """Returns by script how many questions are nearest to their own fact."""
    found = {}
    for script, texts in tomllib.loads(_SCRIPTS.read_text(encoding="utf-8")).items():
        similar = embedder.embed_now(texts["questions"]) @ embedder.embed_now(texts["facts"]).T
        found[script] = sum(int(row.argmax() == number) for number, row in enumerate(similar))
    return found


def _rates(embedders: Sequence[Distilled | Static], texts: Sequence[str]) -> list[float]:
    took: list[list[float]] = [[] for _ in embedders]
    for _ in range(_ROUNDS):
        for embedder, seconds in zip(embedders, took, strict=True):
            fresh = type(embedder)()
            fresh.warm()
            began = time.process_time()
            for start in range(0, len(texts), _BATCH):
                fresh.embed_now(texts[start : start + _BATCH])
            seconds.append(time.process_time() - began)
    return [len(texts) / median(seconds) for seconds in took]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench embedders", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, nargs="*")
    options = parser.parse_args(arguments)
    embedders: list[Distilled | Static] = [Distilled()]
    try:
        embedders.append(Static())
    except MissingExtra:
        print("static isn't installed")
    print(describe())
    for embedder in embedders:
        began = time.process_time()
        embedder.warm()
        milliseconds = 1000 * (time.process_time() - began)
        by_script = nearest(embedder)
        missed = ", ".join(f"{script} {5 - count}" for script, count in by_script.items() if count < 5)
        print(
            f"{embedder.identity:<26}loaded in {milliseconds:.0f} ms; {sum(by_script.values())} of {5 * len(by_script)}"
            f" questions nearest to their fact{f' (not: {missed})' if missed else ''}",
            flush=True,
        )
    for path in options.data:
        dataset = load(path)
        texts = [said.text for one in dataset.conversations for messages in one.sessions.values() for said in messages]
        for embedder, rate in zip(embedders, _rates(embedders, texts), strict=True):
            print(f"{embedder.identity:<26}{rate:>10,.0f} texts/s  {dataset.name}, {len(texts):,} texts", flush=True)


if __name__ == "__main__":
    main()
