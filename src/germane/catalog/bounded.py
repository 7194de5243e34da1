"""count_within: counts a request's tokens within a time limit (BUD-2).

Small texts are counted at once, large ones in a thread, and texts that aren't counted in time get their tokenizer's ceiling.
The thread stops after its current text; the counts it made stay in the tokenizer's cache.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from threading import Event
from typing import Protocol, runtime_checkable

from germane.ports.tokenizer import Tokenizer
from germane.types.limits import MANY

__all__ = ["CountedTokenizer", "count_within"]

INLINE = 64 * 1024
"""Bytes of uncounted text in a request that are counted on the event loop (which takes about half a millisecond)."""
_MAX_LOOKUP = 256 * 1024
"""Characters of a text up to which the event loop looks it up in the cache: its digest takes up to a millisecond."""
_DIGESTED = 4_096
"""Characters of a text from which on a look into the cache takes longer than one into a dict."""
_MAX_COUNTED = 1_000_000
"""Characters of a text up to which it is counted at all: hashing a longer one takes milliseconds, counting it far too long."""


@runtime_checkable
class _Cached(Protocol):
    """A tokenizer whose cache can be asked."""

    def known(self, text: str) -> int | None: ...


class CountedTokenizer:
    """A tokenizer for one request, with the counts of some texts fixed beforehand; it asks `base` for all others."""

    __slots__ = ("_base", "_counts", "bounded")

    def __init__(self, base: Tokenizer, counts: dict[str, int], bounded: int) -> None:
        self._base, self._counts = base, counts
        self.bounded = bounded
        """The number of texts whose count is their ceiling."""

    @property
    def name(self) -> str:
        return self._base.name

    @property
    def exact(self) -> bool:
        return self._base.exact

    def count(self, text: str) -> int:
        if len(text) > _MAX_COUNTED:
            return self._base.ceiling(text)
        count = self._counts.get(text)
        return self._base.count(text) if count is None else count

    def ceiling(self, text: str) -> int:
        return self._base.ceiling(text)


async def count_within(tokenizer: Tokenizer, texts: Iterable[str], limit: float = 0.005) -> CountedTokenizer:
    """Returns a tokenizer that knows the count of each of `texts`, without blocking the event loop for long.

    Texts that are small or in the cache cost nothing here. The others are counted in a thread, for at most `limit` seconds in
    all; those that aren't done by then get their ceiling.
    """
    texts = list(texts)
    huge = sum(len(text) > _MAX_COUNTED for text in texts)
    counted = [text for text in texts if len(text) <= _MAX_COUNTED] if huge else texts
    looked = partial(_uncounted, tokenizer, counted)
    known, large = await asyncio.to_thread(looked) if len(counted) > MANY else looked()
    if not large:
        return CountedTokenizer(tokenizer, known, huge)
    counts = dict(known)
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


def _uncounted(tokenizer: Tokenizer, texts: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """Returns the counts of long texts that are in the cache, where each look needs another digest, and the distinct texts to
    count in a thread: those beyond the first `INLINE` bytes that aren't in the cache, and those too long to look up. The
    smallest come first, so that as many as possible are counted."""
    if 3 * sum(map(len, texts)) <= INLINE:
        return {}, []
    known = tokenizer.known if isinstance(tokenizer, _Cached) else None
    counts = dict[str, int]()
    room, large = INLINE, dict[str, None]()
    for text in texts:
        if len(text) > _MAX_LOOKUP:
            large[text] = None
            continue
        if known is not None and (count := known(text)) is not None:
            if len(text) > _DIGESTED:
                counts[text] = count
            continue
        size = len(text) if text.isascii() else 3 * len(text)
        if size <= room:
            room -= size
        else:
            large[text] = None
    return counts, sorted(large, key=len)
