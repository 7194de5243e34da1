"""Made: conversations of any size for the measurements of speed, in the shape that adapters read, and the vectors of their
words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from bench.corpus import conversations
from bench.peers.adapters.embedder import Embedder
from bench.peers.adapters.memory import Memory
from bench.peers.turn import memory

__all__ = ["vectors_of_words", "write"]

_WORD = re.compile(r"[a-z]+")
_OFTEN = 2_000


def write(memories: Iterable[Memory], path: Path) -> Path:
    """One JSON list a line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in memories)
    return path


def made(count: int) -> Iterable[Memory]:
    for session, said in conversations(count):
        for message in said:
            yield memory(message, session)


def vectors_of_words(path: Path, embedder: Embedder, count: int) -> Path:
    """The file of the vectors of every word in so many messages; made once, which takes some minutes, and goes on where it was
    stopped."""
    if path.with_suffix(f".{count}").exists():
        return path
    words = {word for one in made(count) for word in _WORD.findall(one.line.lower())}
    embedder.use(path)
    for number, word in enumerate(sorted(words), start=1):
        embedder.vector(word)
        if number % _OFTEN == 0:
            embedder.keep()
            print(f"\r{number:,} of {len(words):,} words", end="", flush=True)
    embedder.use(None)
    path.with_suffix(f".{count}").touch()
    print()
    return path
