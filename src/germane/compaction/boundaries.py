"""Boundaries: how far a conversation is masked and taken out, computed from its beginning, message by message.

Each message is added once. When what is in the prompt exceeds the high-water mark, which is the budget, the boundaries move
in one step until it is at the low-water mark; else nothing changes. Where masking alone frees at least half of that, no
exchange leaves; where there are too many messages, exchanges leave before anything is masked. What is left of a
conversation so depends on nothing but its messages, in their order: with one more message the prompt has the same beginning
until the next move, and no state has to be kept elsewhere.

Why the low-water mark is half the budget by default: let H be the budget, L the low-water mark, `a` the tokens of a turn,
`c` the price of a cached token, and `w` what a token costs more that has to be read anew. A turn costs c·(H+L)/2 for
reading and w·L·a/(H−L) for its share of the next move. Both grow with L, so what is kept has a price; the second one
explodes near H. With w/c = 11.5 (a cache that costs 1.25 to write and 0.1 to read) and turns of 1 % of the budget, moves
add 5 % to the cost of reading at L = H/4, 15 % at H/2, 51 % at 0.8·H and 115 % at 0.9·H. Half keeps three quarters of the
budget in use on average.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import Generic, TypeVar, overload

from germane.compaction.exchanges import Division, linked_spans, span_holding
from germane.types.message import Message, Raw

# The state of the boundaries is replaced with each move, and holds all moves since the beginning: this sequence lets
# the states share one list.


T = TypeVar("T")


class SharedSequence(Sequence[T], Generic[T]):
    """The first `len(self)` items of a list that others may share and that only ever gets longer. So a state that is replaced
    with each step may hold all that happened since the beginning: adding to it costs what is added."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def plus(self, items: Iterable[T]) -> SharedSequence[T]:
        """Returns a sequence with these items behind its own. Only a second one that is made of the same sequence copies it."""
        more: SharedSequence[T] = SharedSequence()
        more._items = self._items if len(self._items) == self._length else self._items[: self._length]
        more._items.extend(items)
        more._length = len(more._items)
        return more

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[T]:
        return islice(self._items, self._length)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return self._items[: self._length][index]
        return self._items[range(self._length)[index]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SharedSequence) or len(other) != self._length:
            return False
        return self._items is other._items or all(one == same for one, same in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(self._length)

    def __repr__(self) -> str:
        return f"<Growing {self._length}>"


Span = tuple[int, int]
"""The messages from an index to another (exclusive)."""
EvictionOrder = Callable[[Sequence[Span]], Iterable[Span]]
"""Returns exchanges, given in their order, in the order in which they leave."""
_HEADING_TOKENS = 24
"""Tokens of the heading over constraints, at most."""
_CONSTRAINTS_SHARE = 0.75
"""The part of the budget that constraints may take at most; of more, the newest stay."""
_MAX_OPEN = 16
"""Groups with an open call outside the running exchange that stay, the newest ones."""
_RETRY_DIVISOR = 16
"""Where a move can't get down to the low-water mark, since all that stands must stay, the next one comes after a sixteenth as
many messages more: each move looks at all that stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """`high` and `low` are tokens of the messages alone. `block` are those that a summary may take with its delimiters, 0 where
    there is none, `around` those of the delimiters, `least` those that it takes even if it says nothing, `held` those of one
    that the conversation begins with. `messages` bounds their number."""

    high: int
    low: int
    block: int = 0
    around: int = 0
    least: int = 0
    held: int = 0
    messages: int = 1_000_000_000
    messages_low: int = 1_000_000_000
    mask: bool = True
    keep_outputs: int = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryState:
    """Where the boundaries are. Results before `masked` are masked, but for those of `unmasked` messages; exchanges before
    `covered` have left, but for `kept`. `left` are the ranges that have, `spans` what each move put behind the boundary. `lost`
    are the tokens behind the place where the newest move broke the prefix, `saved` those that it took away, `at` the number of
    messages when it came: of those, none keeps its thinking, which is bound to what stood before it (`prefix_bound`); what the
    model thinks later is bound to what the move left."""

    masked: int = 0
    covered: int = 0
    kept: tuple[Span, ...] = ()
    unmasked: frozenset[int] = frozenset()
    left: SharedSequence[Span] = field(default_factory=SharedSequence[Span])
    spans: SharedSequence[Span] = field(default_factory=SharedSequence[Span])
    moves: int = 0
    at: int = 0
    saved: int = 0
    lost: int = 0


class Boundaries:
    """Mutable. `constrain` returns the texts that a summary must hold of the messages of a span, with the tokens of each.
    `saving` returns the tokens that masking the outputs of a message saves; it is asked when a boundary comes there."""

    def __init__(
        self,
        room: Room,
        leaving: EvictionOrder,
        constrain: Callable[[Span], Iterable[tuple[str, int]]],
        saving: Callable[[int], int],
    ) -> None:
        self.room, self.division = room, Division()
        self.now = BoundaryState()
        self._leaving, self._constrain, self._saving = leaving, constrain, saving
        self._sums, self._saved, self._thought = [0], [0], [0]
        """The tokens of the messages before each index; what masking has saved of them; and those of their thinking."""
        self._unbound = 0
        """Before which message thinking has gone."""
        self._outputs: list[int] = []
        """The message of each tool output."""
        self._humans: list[int] = []
        self._pinned: dict[str, int] = {}
        self._pinned_tokens = 0
        self._block = room.held
        self._size, self._number = room.held, 0
        self._next_move = 0
        """The number of messages from which on the boundaries may move again."""
        self.gone = 0
        """The number of messages that have left."""

    @property
    def size(self) -> int:
        """Tokens of the messages as they stand in the prompt, the summary counted with what it may take."""
        return self._size

    def add(self, message: Message, raw: Raw, cost: int, outputs: int = 0, thinking: int = 0) -> None:
        """Adds a message that costs `cost` tokens, `thinking` of them for what goes with the next move, and holds so many tool
        outputs."""
        index = self.division.count
        self.division.add(message, raw)
        self._sums.append(self._sums[-1] + cost)
        self._thought.append(self._thought[-1] + thinking)
        self._outputs += [index] * outputs
        self._size += cost
        if self.division.lead == index + 1:
            self._saved.append(0)
            self.now = replace(self.now, masked=index + 1, covered=index + 1)
            self.division.floor = index + 1
            return
        if self.division.last_human == index:
            self._humans.append(index)
        self._number += 1
        if self._number >= self._next_move and (self._size > self.room.high or self._number > self.room.messages):
            self._move()
            self._next_move = self._number + self._number // _RETRY_DIVISOR if self._over(low=True) else 0

    def pin(self, constraints: Iterable[tuple[str, int]]) -> None:
        """Counts these constraints into the summary, once there is one."""
        for text, tokens in constraints:
            self._pinned_tokens += tokens - self._pinned.get(text, 0)
            self._pinned[text] = tokens

    @property
    def block(self) -> int:
        """Tokens that the summary may take, with its delimiters."""
        return self._block

    @property
    def whole(self) -> int:
        """Tokens of the conversation as it was given."""
        return self._sums[-1] + self.room.held

    def late(self, *, apart: bool) -> frozenset[int]:
        """Returns the calls whose results came behind a boundary, or late, and that are paired with them: without `apart` only
        those with none of the user's words between the two."""
        pairs, humans = self.division.late, self._humans
        return frozenset(call for call, result in pairs if apart or bisect_left(humans, call) == bisect_left(humans, result))

    def pressed(self, excess: int) -> Boundaries:
        """Returns what the boundaries would be with `excess` tokens less, as far as anything may leave; changes nothing."""
        other = copy(self)
        other.division = copy(self.division)
        other.division.late = list(self.division.late)
        other._saved, other._pinned = list(self._saved), dict(self._pinned)
        least = self._size - excess
        other.room = replace(self.room, high=least, low=min(self.room.low, least))
        if self.division.begins:
            other._move()
        other.room = self.room
        return other

    def _over(self, *, low: bool = False) -> bool:
        return self._is_heavy(low=low) or self._is_many(low=low)

    def _is_many(self, *, low: bool = False) -> bool:
        return self._number > (self.room.messages_low if low else self.room.messages)

    def _is_heavy(self, *, low: bool = False) -> bool:
        return self._size > (self.room.low if low else self.room.high)

    def _move(self) -> None:
        before, size = self.now, self._size
        bound = self._unbound
        thinking = self._thought[-1] - self._thought[bound]
        self._unbound = self.division.count
        self._size -= thinking
        active = self.division.begins[-1]
        if self._number > self.room.messages:
            self._let_exchanges_go(active, self._is_many)
        if self.room.mask:
            self._mask_to(min(active, self._newest_outputs()))
        if self._size > (self.room.low + self.room.high) // 2 or self._number > self.room.messages:
            self._let_exchanges_go(active, self._over)
        if self._is_heavy() and self.room.mask:
            last = self.division.group_at(self.division.count - 1).start
            self._mask_to(min(last, self._newest_outputs()))
            if self._is_heavy():
                self._mask_to(last)
        if self._over():
            self._let_groups_go(active, words=False)
        if self._over():
            self._let_groups_go(active, words=True)
        after = self.now
        if after == before and not thinking:
            return
        spans = after.spans.plus([(before.covered, after.covered)]) if after.covered > before.covered else after.spans
        changed = after.left != before.left
        first = self.division.lead if changed else before.masked if after.masked > before.masked else bound
        lost = self._size - (self._sums[first] - self._saved[first] if changed else self._up_to(first))
        self.now = replace(
            after, spans=spans, moves=before.moves + 1, at=self.division.count, saved=max(0, size - self._size), lost=lost
        )

    def _cost(self, span: Span) -> int:
        start, end = span
        masked, unbound = self.now.masked, self._unbound
        saved = self._saved[min(end, masked)] - self._saved[min(start, masked)]
        thought = self._thought[min(end, unbound)] - self._thought[min(start, unbound)]
        return self._sums[end] - self._sums[start] - saved - thought

    def _up_to(self, index: int) -> int:
        """Tokens of what stands in the prompt before the message `index`."""
        return self._size - self._cost((index, self.division.count))

    def _newest_outputs(self) -> int:
        """Before which message outputs may be masked without masking one of the newest."""
        keep = self.room.keep_outputs
        if not keep:
            return self.division.count
        return self._outputs[-keep] if len(self._outputs) > keep else 0

    def _mask_to(self, limit: int) -> None:
        """Masks outputs, the oldest first, before the message `limit`, down to the low-water mark."""
        index, saved, open = self.now.masked, self._saved[-1], set[int]()
        while index < limit and self._is_heavy(low=True):
            saving = self._saving(index)
            if saving and self.division.group_at(index).state == "open":
                open.add(index)
            elif saving:
                saved += saving
                self._size -= saving
            self._saved.append(saved)
            index += 1
        self.now = replace(self.now, masked=index, unmasked=self.now.unmasked.union(open) if open else self.now.unmasked)

    def _cover(self, kept: list[Span], left: list[Span], covered: int) -> None:
        now = self.now
        self._saved += [self._saved[-1]] * (covered - now.masked)
        whole = (index for start, end in kept for index in range(max(start, now.masked), end) if self._saving(index))
        unmasked = (*now.unmasked, *whole)
        kept = sorted(kept)
        standing = [*kept, (covered, self.division.count)]
        self.gone += sum(end - start for start, end in left)
        self.now = replace(
            now,
            kept=tuple(kept),
            unmasked=frozenset(index for index in unmasked if span_holding(standing, index) is not None),
            left=now.left.plus(left),
            covered=covered,
            masked=max(now.masked, covered),
        )
        self.division.floor, self.division.kept = covered, self.now.kept
        for span in left:
            self.pin(self._constrain(span))
        self._count_block()

    def _count_block(self) -> None:
        """Counts the summary with what it may take, once something has left."""
        room, pinned = self.room, self._pinned_tokens
        most = max(room.block, int(_CONSTRAINTS_SHARE * (room.high - self._sums[self.division.lead])))
        block = max(room.block, room.least, min(most, room.around + _HEADING_TOKENS + pinned) if pinned else 0)
        self._size += block - self._block
        self._block = block

    def _let_exchanges_go(self, active: int, over: Callable[..., bool]) -> None:
        """Takes exchanges before `active` out, in the strategy's order, until nothing is `over` the low-water mark."""
        while over(low=True):
            chunks = [*(span for span in self.now.kept if span[0] < active), *self._exchanges(self.now.covered, active)]
            rest = [span for span in self.now.kept if span[0] >= active]
            late = self._late()
            units = {unit[0]: unit for unit in linked_spans(chunks, [*late, *self._same_exchange(chunks)])}
            gone: dict[Span, list[Span]] = {}
            size, block = self._size, self._block
            self._count_block()
            for first in self._leaving(list(units)):
                if not over(low=True):
                    break
                unit = units[first]
                staying = self._staying(unit, late)
                for chunk in unit:
                    inner = [span for span in staying if chunk[0] <= span[0] < chunk[1]]
                    if inner == [chunk]:
                        continue
                    gone[chunk] = inner
                    for span in _without(chunk, inner):
                        self._size -= self._cost(span)
                        self._number -= span[1] - span[0]
            if not gone:
                self._size, self._block = size, block
                return
            covered = max(self.now.covered, *(end for _, end in gone))
            stay = [span for span in chunks if span not in gone and span[0] < covered]
            opened = sorted(span for spans in gone.values() for span in spans)
            left = [span for chunk in sorted(gone) for span in _without(chunk, gone[chunk])]
            self._cover([*stay, *opened, *rest], left, covered)

    def _exchanges(self, start: int, end: int) -> Iterator[Span]:
        begins = self.division.begins
        place = bisect_right(begins, start)
        while start < end:
            until = begins[place] if place < len(begins) else end
            yield start, min(until, end)
            start, place = until, place + 1

    def _late(self) -> list[tuple[int, int]]:
        """Links of calls and the results that came when the calls stood before the boundary, as far as both stand."""
        late, is_kept = self.division.late, self.division.is_kept
        late[:] = [(call, result) for call, result in late if is_kept(call) and is_kept(result)]
        return late

    def _same_exchange(self, chunks: Sequence[Span]) -> Iterator[tuple[int, int]]:
        """Yields links between what is left of one exchange."""
        if not self.now.kept:
            return
        begins = self.division.begins
        for one, other in pairwise(chunks):
            if bisect_right(begins, one[0]) == bisect_right(begins, other[0]):
                yield one[0], other[0]

    def _staying(self, unit: Sequence[Span], late: Sequence[tuple[int, int]]) -> list[Span]:
        """The groups that must stay: those with a call that waits for its result, and those linked with what stays."""
        if not late:
            return [span for chunk in unit for span in self.division.open_groups(*chunk)][-_MAX_OPEN:]
        groups = [group for chunk in unit for group in self.division.groups(*chunk)]
        spans = [(group.start, group.end) for group in groups]
        stay = set([span for span, group in zip(spans, groups, strict=True) if group.state == "open"][-_MAX_OPEN:])
        stay.update(self._loose(spans, late))
        stay = {span for tied in linked_spans(spans, late) if not stay.isdisjoint(tied) for span in tied}
        return [span for span in spans if span in stay]

    def _loose(self, spans: Sequence[Span], late: Sequence[tuple[int, int]]) -> Iterator[Span]:
        """Yields the spans that are linked with what is in none of them."""
        for link in late:
            ends = [span_holding(spans, index) for index in link]
            if None in ends:
                yield from (spans[place] for place in ends if place is not None)

    def _let_groups_go(self, active: int, *, words: bool) -> None:
        """Takes closed groups out of the running exchange, the oldest first: those without the user's words, and with `words`
        the others too. The newest group and the user's last words stay."""
        last = self.division.group_at(self.division.count - 1).start
        older = [*(span for span in self.now.kept if span[0] < active), *self._exchanges(self.now.covered, active)]
        start = max(active, self.now.covered)
        running = [span for span in self.now.kept if span[0] >= active]
        running += ((group.start, group.end) for group in self.division.groups(start, last))
        standing, late = [*older, *running], self._late()
        stay = {span for span in running if self._must_stay(span, words=words)}.union(self._loose(standing, late))
        stay.update(span for span in older if self._staying([span], ()) or self._is_whole(span))
        size, block, gone = self._size, self._block, set[Span]()
        self._count_block()
        for tied in linked_spans(standing, late):
            if not self._over(low=not words):
                break
            if tied[-1][0] >= active and stay.isdisjoint(tied):
                gone.update(tied)
                self._size -= sum(map(self._cost, tied))
                self._number -= sum(end - start for start, end in tied)
        if gone:
            covered = max(self.now.covered, *(end for _, end in gone))
            self._cover([span for span in standing if span not in gone and span[0] < covered], sorted(gone), covered)
        else:
            self._size, self._block = size, block

    def _is_whole(self, span: Span) -> bool:
        """Whether more than a group has stayed."""
        group = self.division.group_at(span[0])
        return (group.start, group.end) != span

    def _must_stay(self, span: Span, *, words: bool) -> bool:
        """Whether a group of the running exchange may not leave."""
        if span[0] <= self.division.last_human < span[1] or self._staying([span], ()):
            return True
        return not words and bisect_left(self._humans, span[1]) > bisect_left(self._humans, span[0])


def _without(chunk: Span, inner: Sequence[Span]) -> Iterator[Span]:
    """Yields what is left of the chunk without the spans inside it."""
    start = chunk[0]
    for span in inner:
        if span[0] > start:
            yield start, span[0]
        start = span[1]
    if start < chunk[1]:
        yield start, chunk[1]
