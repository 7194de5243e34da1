"""Counting with an eye on the clock (BUD-2): what is small is counted on the spot, what is large in a thread, and what isn't
counted in time takes the ceiling from its size. The thread stops after the text it is at; what it counted stays remembered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from threading import Event
from typing import Protocol, runtime_checkable

from germane.ports.tokenizer import Tokenizer

__all__ = ["CountedTokenizer", "count_within"]

INLINE = 64 * 1024
"""Bytes of uncounted text in one request up to which counting on the event loop is harmless (about half a millisecond)."""
_LOOKED_UP = 256 * 1024
"""Characters of a text up to which it is looked up on the event loop: a digest of it takes up to a millisecond."""
_COUNTED = 1_000_000
"""Characters of a text up to which it is counted at all: of a longer one even the hash takes milliseconds, and to count it
takes more time than there is."""


@runtime_checkable
class _Remembering(Protocol):
    def known(self, text: str) -> int | None: ...


class CountedTokenizer:
    """A tokenizer for one request: some counts are settled beforehand, the rest are `base`'s own."""

    __slots__ = ("_base", "_counts", "bounded")

    def __init__(self, base: Tokenizer, counts: dict[str, int], bounded: int) -> None:
        self._base, self._counts = base, counts
        self.bounded = bounded
        """How many texts took the ceiling."""

    @property
    def name(self) -> str:
        return self._base.name

    @property
    def exact(self) -> bool:
        return self._base.exact

    def count(self, text: str) -> int:
        if len(text) > _COUNTED:
            return self._base.ceiling(text)
        settled = self._counts.get(text)
        return self._base.count(text) if settled is None else settled

    def ceiling(self, text: str) -> int:
        return self._base.ceiling(text)


async def count_within(tokenizer: Tokenizer, texts: Iterable[str], limit: float = 0.005) -> CountedTokenizer:
    """`tokenizer`, with every one of `texts` answered for: at once where they are few and small or known, else counted in a
    thread for at most `limit` seconds, else by their ceiling. Never blocks the event loop for long."""
    texts = list(texts)
    huge = sum(len(text) > _COUNTED for text in texts)
    large = _uncounted(tokenizer, [text for text in texts if len(text) <= _COUNTED] if huge else texts)
    if not large:
        return CountedTokenizer(tokenizer, {}, huge)
    counts: dict[str, int] = {}
    stop = Event()

    def work() -> None:
        for text in large:
            if stop.is_set():
                return
            counts[text] = tokenizer.count(text)

    job = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        await asyncio.wait([job], timeout=limit)
    finally:
        stop.set()
    if job.done():
        job.result()
    done = dict(counts)
    missing = [text for text in large if text not in done]
    return CountedTokenizer(tokenizer, done | {text: tokenizer.ceiling(text) for text in missing}, len(missing) + huge)


def _uncounted(tokenizer: Tokenizer, texts: Sequence[str]) -> list[str]:
    """Distinct texts beyond the first `INLINE` bytes that aren't remembered, as far as that is looked up here; smallest first,
    so that most get counted."""
    if 3 * sum(map(len, texts)) <= INLINE:
        return []
    known = tokenizer.known if isinstance(tokenizer, _Remembering) else None
    room, large = INLINE, dict[str, None]()
    for text in texts:
        if len(text) > _LOOKED_UP:
            large[text] = None
            continue
        if known is not None and known(text) is not None:
            continue
        size = len(text) if text.isascii() else 3 * len(text)
        if size <= room:
            room -= size
        else:
            large[text] = None
    return sorted(large, key=len)
