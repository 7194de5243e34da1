"""Request tokens: what a request costs as the caller sent it, and the budget left (BUD-3, BUD-4, BUD-5).

Everything counts: role and separators of each message, names, texts, tool calls and results with their ids, images by the
model's rule, opaque parts by their size, files and a provider's own tools by the model's figures, tool schemas as JSON. Where
a provider's own serialisation is unknown, the count is an upper estimate. Base64 payloads are priced by the bytes they
encode, not by their letters.

Counting takes time. `count_within` counts ahead within a time limit, and `at_most` gives an upper bound without counting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from threading import Event
from typing import Any, Protocol, runtime_checkable

from germane.catalog.media_tokens import image_tokens, own_tool_tokens, split_payloads, written_json
from germane.catalog.profiles import Profile
from germane.ports.models import Tokenizer
from germane.types.budget import Budget, allocate
from germane.types.limits import INLINE_MESSAGES
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult

PER_CALL = 8
"""Tokens of the markers around a tool call or its result."""
_PER_PART = 1
_MIN_ESTIMATED_SAFETY = 0.05
"""Safety fraction with an estimating tokenizer, at least."""


def measure(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    profile: Profile,
    tokenizer: Tokenizer,
    cap: int,
    *,
    shaping: int = 0,
    beside: int = 0,
    reserve: int | None = None,
) -> Budget:
    """Returns the budget of a request, in tokens. `cap` is the caller's `max_tokens`, else the strategy's cap (BUD-5).
    `shaping` is the upper bound of what a dialect adds when it writes the messages, `beside` what is sent beside them, such as
    the system parts of a built request; `reserve` replaces BUD-3's.

    The overhead of germane's own messages (at most two, INJECT-2) and the shaping are subtracted from what is available.
    """
    spoken = profile.per_request + sum(message_tokens(message, profile, tokenizer.count) for message in messages)
    return allocate(
        window=profile.window,
        max_output=profile.max_output,
        messages=spoken + beside,
        tools=tools_tokens(tools, profile, tokenizer.count),
        safety_fraction=_safety(profile, tokenizer),
        cap=cap,
        overhead=2 * profile.per_message + shaping,
        reserve=reserve,
    )


def request_room(profile: Profile, tokenizer: Tokenizer, *, beside: int = 0, reserve: int | None = None) -> int:
    """Returns the tokens of the window that the messages and tools of a request may take: without the answer's reserve and the
    safety margin (BUD-3), and without what is sent `beside` them."""
    budget = allocate(
        window=profile.window,
        max_output=profile.max_output,
        messages=beside,
        tools=0,
        safety_fraction=_safety(profile, tokenizer),
        cap=profile.window,
        reserve=reserve,
    )
    return budget.available


def _safety(profile: Profile, tokenizer: Tokenizer) -> float:
    return profile.safety if tokenizer.exact else max(profile.safety, _MIN_ESTIMATED_SAFETY)


def message_tokens(message: Message, profile: Profile, count: Callable[[str], int]) -> int:
    """Returns the tokens of one message, its overhead included."""
    parts = message.parts
    total = profile.per_message if message.name is None else profile.per_message + 1 + count(message.name)
    for part in parts:
        total += count(part.text) if isinstance(part, Text) else _part_tokens(part, profile, count)
    return total + _PER_PART * max(0, len(parts) - 1)


def tools_tokens(tools: Sequence[Mapping[str, Any]], profile: Profile, count: Callable[[str], int]) -> int:
    """Returns the tokens of all tool schemas as JSON, their overhead and what a provider writes for its own tools included; 0
    without tools."""
    if not tools:
        return 0
    return profile.per_tools + sum(
        profile.per_tool + count(written_json(tool)) + own_tool_tokens(tool, profile.own_tools) for tool in tools
    )


def texts_of(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Every text that `measure` will count, so that large ones can be counted ahead (`bounded.py`)."""
    for message in messages:
        for part in message.parts:
            match part:
                case Text(text) | ToolResult(text=text):
                    yield text
                case ToolCall(arguments=arguments):
                    yield arguments
                case Opaque(raw=raw):
                    yield split_payloads(raw)[0]
                case Image():
                    pass
    yield from map(written_json, tools)


def _part_tokens(part: Part, profile: Profile, count: Callable[[str], int]) -> int:
    match part:
        case Text(text):
            return count(text)
        case Image():
            return image_tokens(profile.images, part)
        case ToolCall():
            return PER_CALL + count(part.id) + count(part.name) + count(part.arguments)
        case ToolResult():
            return PER_CALL + count(part.call_id) + count(part.name) + count(part.text)
        case Opaque():
            text, payload = split_payloads(part.raw, profile.media)
            return PER_CALL + count(text) + payload


# Upper bounds of a request's cost from the size of its texts, for when counting takes too long or fails. A bound is
# computed a hundred times faster than a count, and is four times the count for plain English.


_MAX_LIGHT_CHARS, _MAX_LIGHT_MESSAGES = 20_000, 500
"""Characters and messages up to which counting a whole request takes well under a millisecond."""
_SAMPLE = "x" * 64
_MIN_SAFETY = 0.05


class Ceiling:
    """A tokenizer that counts one token for each byte of UTF-8, which no vocabulary exceeds; four bytes are assumed for each
    character of a text that isn't ASCII."""

    __slots__ = ()

    name = "bytes (ceiling)"
    exact = False

    def count(self, text: str) -> int:
        return _max_bytes(text)

    def ceiling(self, text: str) -> int:
        return _max_bytes(text)


def is_light(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether the request is small enough to count at once: few messages of text, and no tools."""
    if tools or len(messages) > _MAX_LIGHT_MESSAGES:
        return False
    room = _MAX_LIGHT_CHARS
    for part in (part for message in messages for part in message.parts):
        if not isinstance(part, Text) or (room := room - len(part.text)) < 0:
            return False
    return True


def at_most(
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    profile: Profile,
    tokenizer: Tokenizer,
    cap: int,
    *,
    shaping: int = 0,
    beside: int = 0,
    reserve: int | None = None,
) -> Budget:
    """As `measure`, with an upper bound in place of each count, so `available` is never too high."""
    rate = tokenizer.ceiling(_SAMPLE) / len(_SAMPLE)
    size, plain, others = 0, 0, 0
    for message in messages:
        parts = message.parts
        if len(parts) == 1 and type(part := parts[0]) is Text and message.name is None:
            size += _max_bytes(part.text)
            plain += 1
        else:
            others += message_tokens(message, profile, tokenizer.ceiling)
    return allocate(
        window=profile.window,
        max_output=profile.max_output,
        messages=profile.per_request + plain * (profile.per_message + 1) + int(rate * size) + others + beside,
        tools=tools_tokens(tools, profile, tokenizer.ceiling),
        safety_fraction=max(profile.safety, _MIN_SAFETY),
        cap=cap,
        overhead=2 * profile.per_message + shaping,
        reserve=reserve,
    )


def _max_bytes(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)


# Counting within a time limit (BUD-2). Small texts are counted at once, large ones in a thread, and texts that aren't
# counted in time get their tokenizer's ceiling. The thread stops after its current text; the counts it made stay in the
# tokenizer's cache.


_INLINE_BYTES = 64 * 1024
"""Bytes of uncounted text in a request that are counted on the event loop (which takes about half a millisecond)."""
_MAX_LOOKUP = 256 * 1024
"""Characters of a text up to which the event loop looks it up in the cache: its digest takes up to a millisecond."""
_MIN_DIGESTED = 4_096
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
    known, large = await asyncio.to_thread(looked) if len(counted) > INLINE_MESSAGES else looked()
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
    if 3 * sum(map(len, texts)) <= _INLINE_BYTES:
        return {}, []
    known = tokenizer.known if isinstance(tokenizer, _Cached) else None
    counts = dict[str, int]()
    room, large = _INLINE_BYTES, dict[str, None]()
    for text in texts:
        if len(text) > _MAX_LOOKUP:
            large[text] = None
            continue
        if known is not None and (count := known(text)) is not None:
            if len(text) > _MIN_DIGESTED:
                counts[text] = count
            continue
        size = len(text) if text.isascii() else 3 * len(text)
        if size <= room:
            room -= size
        else:
            large[text] = None
    return counts, sorted(large, key=len)
