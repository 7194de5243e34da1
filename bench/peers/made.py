"""Made: generated conversations for speed measurements, in the adapters' format, and the vectors of their words."""

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
    """Writes one JSON list per line."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in memories)
    return path


def made(count: int) -> Iterable[Memory]:
    for session, said in conversations(count):
        for message in said:
            yield memory(message, session)


def vectors_of_words(path: Path, embedder: Embedder, count: int) -> Path:
    """The file with the vectors of all words in that many messages. It is computed once, in some minutes; an interrupted run
    continues."""
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
