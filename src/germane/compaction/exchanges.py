"""Exchanges: a conversation as exchanges of message groups, which are kept or taken away as a whole (HIST-1).

A group is one message, or the assistant's calls with all their results and whatever is between, or an item that the
provider signed with what must follow it. An exchange is a user's words and everything up to the next user's words, and
never ends between a call and its result. Messages of users in a row are the beginning of one exchange, but at most eight of
them: in a group chat the assistant may never speak. The rules take in more than those of `dialects/pairing.py` and
`dialects/responses_pairing.py`: what a dialect pairs is always in one group.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from germane.dialects.opaque import bound_to_next
from germane.dialects.responses_pairing import WaitingCalls
from germane.dialects.tool_state import Unsettled
from germane.types.message import Message, Opaque, Text, ToolCall, ToolResult, is_human


class MessageGroup(NamedTuple):
    """The messages from `start` to `end` (exclusive), which are kept or taken away as a whole: one message, or calls with all
    their results and whatever stands between, or a provider's opaque item with what must follow it.

    `state` is `open` where a call waits for its final result or a confirmation for its answer: such a group is never taken
    away. `opaque` says that it holds an item that the provider signed or encrypted: it is moved unchanged, or not at all."""

    start: int
    end: int
    state: str = "closed"
    opaque: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A user's words and everything up to the next user's words: a batch (HIST-1). The first one may begin without a user's
    words. `groups` cover the messages from `start` to `end` without a gap."""

    start: int
    end: int
    groups: tuple[MessageGroup, ...]

    @property
    def open(self) -> bool:
        return any(group.state == "open" for group in self.groups)


_REASONING = "openai-responses:reasoning"
_MAX_UNSETTLED = 64
"""Messages that wait for an end that are known; of more, the oldest count as ended."""
_MAX_ROW = 8
"""Messages with users' words, one upon the other, that are the beginning of one exchange; the next one begins another."""
_MAX_TURNS_WAITING = 8
"""User's turns after which nobody waits for a call's result any more, and a result that still comes doesn't put all that stands
between into one group."""


@dataclass(slots=True)
class _Call:
    """`turn` is the number of user's turns before the call."""

    id: str
    name: str
    index: int
    turn: int
    answered: bool = False


@dataclass(slots=True)
class _Group:
    start: int
    end: int
    calls: list[_Call] = field(default_factory=list)
    opaque: bool = False
    ends: bool = True
    """Whether nothing may follow in this group but results that name its calls."""
    answering: bool = False
    """Whether results have come: further calls begin a group of their own."""
    unfollowed: bool = False
    """Whether the last message is nothing but an opaque item, which must be followed by what came of it."""

    reasoned: bool = False
    """Whether the last message is of a run of the model's items that came of one reasoning."""

    @property
    def open(self) -> bool:
        return any(not call.answered for call in self.calls)

    def takes(self, message: Message) -> bool:
        """Returns whether the message belongs here whatever it holds: what came of an opaque item, and what the system says
        before all calls are answered."""
        if message.role == "system":
            return bool(self.calls) and not self.ends and self.open
        return self.unfollowed or (self.reasoned and message.role == "assistant")


def divide(messages: Sequence[Message]) -> tuple[int, tuple[Exchange, ...]]:
    """Returns the number of system messages at the start, and the exchanges of the messages behind them."""
    division = Division()
    for message in messages:
        division.add(message)
    return division.lead, tuple(division.exchanges())


class Division:
    """Mutable. Takes a conversation message by message; each one costs the same however many came before."""

    __slots__ = (
        "_calls",
        "_groups",
        "_row",
        "_starts",
        "_turns",
        "_unsettled",
        "_waiting",
        "begins",
        "count",
        "floor",
        "kept",
        "last_human",
        "late",
        "lead",
    )

    def __init__(self) -> None:
        self.lead = self.count = 0
        self.last_human = -1
        """The index of the user's last words; -1 where there are none."""
        self.floor = 0
        """Messages before this index have left, but for those of `kept`: no result joins a call of theirs."""
        self.kept: Sequence[tuple[int, int]] = ()
        """Ranges of messages before `floor` that have stayed, in their order."""
        self.late: list[tuple[int, int]] = []
        """The indexes of a call that has stayed before `floor` or is out of reach, and of the message with its result."""
        self.begins: list[int] = []
        """Where each exchange begins."""
        self._groups: list[_Group] = []
        self._starts: list[int] = []
        """Where each group begins."""
        self._calls: list[_Call] = []
        self._waiting = WaitingCalls()
        """The numbers of calls among all calls, as the Responses API pairs them: over whatever stands between."""
        self._unsettled = Unsettled()
        self._turns = 0
        self._row = 0
        """How many messages before this one were the user's words in a row, since an exchange began."""

    def add(self, message: Message, raw: Mapping[str, Any] | Message | None = None) -> None:
        """Adds a message. Its dict tells more about the state of its results."""
        index = self.count
        self.count += 1
        if message.role == "system" and self.lead == index:
            self.lead += 1
            return
        parts = message.parts
        if len(parts) == 1 and type(parts[0]) is Text and not (self._groups and self._groups[-1].takes(message)):
            human = message.role == "user" and bool(parts[0].text.strip())
            self._begin(index)
            joined = False
        else:
            human = message.role == "user" and _is_request(message)
            joined = self._join(message, index)
            self._unsettled.add(index, message, message if raw is None else raw)
        if human:
            self._turns += 1
            self.last_human = index
        if not self.begins or (human and not joined and self._row in (0, _MAX_ROW)):
            self.begins.append(index)
            self._row = 0
        self._row = min(self._row + 1, _MAX_ROW) if human else 0

    def exchanges(self, first: int = 0) -> Iterator[Exchange]:
        """Yields the exchanges from the number `first` on."""
        for number in range(first, len(self.begins)):
            start = self.begins[number]
            end = self.begins[number + 1] if number + 1 < len(self.begins) else self.count
            yield Exchange(start=start, end=end, groups=tuple(self.groups(start, end)))

    def groups(self, start: int, end: int) -> Iterator[MessageGroup]:
        """Yields the groups of the messages from `start`, where one begins, to `end`."""
        for group in self._between(start, end):
            yield MessageGroup(group.start, group.end, "open" if self._is_open(group) else "closed", group.opaque)

    def open_groups(self, start: int, end: int) -> list[tuple[int, int]]:
        """Returns those of these groups that are open, as ranges."""
        return [(group.start, group.end) for group in self._between(start, end) if self._is_open(group)]

    def group_at(self, index: int) -> MessageGroup:
        """Returns the group that holds the message."""
        start = self._starts[bisect_right(self._starts, index) - 1]
        return next(self.groups(start, start + 1))

    def _between(self, start: int, end: int) -> list[_Group]:
        first = bisect_right(self._starts, start) - 1
        return self._groups[first : bisect_left(self._starts, end)] if first >= 0 else []

    def _is_open(self, group: _Group) -> bool:
        """Whether a call of the group has no result and may still get one, or the group waits for something else."""
        calls = group.calls
        if calls and any(not call.answered and self._turns - call.turn <= _MAX_TURNS_WAITING for call in calls):
            return True
        return bool(self._unsettled.indexes) and self._is_unsettled(group)

    def _is_unsettled(self, group: _Group) -> bool:
        """Whether the group waits for a confirmation, or for the end of work whose interim result it holds."""
        waiting = self._unsettled.indexes
        newest = list(waiting)[-_MAX_UNSETTLED:] if len(waiting) > _MAX_UNSETTLED else waiting
        return any(group.start <= index < group.end for index in newest)

    def _begin(self, index: int) -> _Group:
        """Begins a group with this message."""
        group = _Group(index, index + 1)
        self._groups.append(group)
        self._starts.append(index)
        return group

    def _join(self, message: Message, index: int) -> bool:
        """Puts the message into a group; returns whether into one that began before it."""
        last = self._groups[-1] if self._groups else None
        calls, results, opaques = list[_Call](), list[ToolResult](), list[Opaque]()
        for part in message.parts:
            if isinstance(part, ToolCall):
                calls.append(_Call(part.id, part.name, index, self._turns))
            elif isinstance(part, ToolResult):
                results.append(part)
            elif isinstance(part, Opaque):
                opaques.append(part)
        opaque = message.role == "assistant" and bool(opaques)
        joins = False
        if last is not None and message.role == "system" and last.takes(message):
            last.end = index + 1
            return True
        if last is not None and message.role == "assistant" and not results:
            running = bool(last.calls) and not last.ends and not last.answering and (bool(calls) or opaque)
            joins = running or last.takes(message)
        elif last is not None and results:
            joins = bool(last.calls) and not last.ends
        reasoned = message.role == "assistant" and not results and joins and last is not None and last.reasoned
        linked = self._answer(results, last if joins else None, index) if results else None
        if joins and last is not None:
            group = last
            group.end = index + 1
        else:
            group = self._begin(index)
        if linked is not None and linked < group.start:
            group = self._merge(linked)
            joins = True
        group.calls += calls
        group.opaque = group.opaque or opaque
        group.ends = not (group.calls and (calls or opaque or results)) or (bool(results) and is_human(message))
        group.answering = bool(results)
        if results and message.role == "assistant":
            group.ends, group.answering = not calls, False
        group.unfollowed = opaque and isinstance(ends := message.parts[-1], Opaque) and bound_to_next(ends)
        group.reasoned = reasoned or (bool(opaques) and any(part.kind == _REASONING for part in opaques))
        for call in calls:
            self._waiting.add(len(self._calls), call)
            self._calls.append(call)
        return joins

    def _answer(self, results: Sequence[ToolResult], window: _Group | None, index: int) -> int | None:
        """Notes which calls the results answer: of the calls that `window` holds, by id, else by name, else in order; and of
        all, as the Responses API pairs them. The two differ where ids are missing or are used twice: a result belongs to both.
        Returns the index of the earliest call that the results join; what answers a call before `floor`, or out of reach, is
        noted as late."""
        earliest: int | None = None
        for result in results:
            call = _matching_call(window.calls, result) if window is not None else None
            if call is not None:
                call.answered = True
            if (other := self._paired(result)) is None:
                continue
            other.answered = True
            if other.index < self.floor or self._turns - other.turn > _MAX_TURNS_WAITING:
                self.late.append((other.index, index))
            else:
                earliest = other.index if earliest is None else min(earliest, other.index)
        return earliest

    def _paired(self, result: ToolResult) -> _Call | None:
        while (number := self._waiting.answer(result)) is not None:
            call = self._calls[number]
            if self.is_kept(call.index):
                return call
        return None

    def is_kept(self, index: int) -> bool:
        """Returns whether the message is still in the conversation."""
        return index >= self.floor or span_holding(self.kept, index) is not None

    def _merge(self, index: int) -> _Group:
        """Makes one group of all from the one with the message `index` to the last."""
        gone: list[_Group] = []
        while self._groups[-1].start > index:
            gone.append(self._groups.pop())
            self._starts.pop()
        group = self._groups[-1]
        group.end = gone[0].end
        for each in reversed(gone):
            group.calls += each.calls
            group.opaque = group.opaque or each.opaque
        while self.begins and self.begins[-1] > group.start:
            self.begins.pop()
        return group


def _is_request(message: Message) -> bool:
    """Returns whether a user's message is a request: neither white space nor results alone are one."""
    return any(part.text.strip() if isinstance(part, Text) else not isinstance(part, ToolResult) for part in message.parts)


def _matching_call(calls: Sequence[_Call], result: ToolResult) -> _Call | None:
    for call in calls:
        if not call.answered and (
            (result.call_id and call.id == result.call_id)
            or (not result.call_id and (not result.name or result.name == call.name))
        ):
            return call
    return None


# Ranges of messages that are linked, as a call is with a result that came late, leave together or not at all.


Span = tuple[int, int]


def linked_spans(spans: Sequence[Span], links: Iterable[tuple[int, int]]) -> list[list[Span]]:
    """Returns the spans, which are in their order, as sets without a link between two of them, each in its order, the set with
    the earliest span first. A link names two messages; one with a message in no span links nothing."""
    links = list(links)
    if not links:
        return [[span] for span in spans]
    roots = list(range(len(spans)))

    def root(place: int) -> int:
        while roots[place] != place:
            roots[place] = place = roots[roots[place]]
        return place

    for one, other in links:
        first, second = span_holding(spans, one), span_holding(spans, other)
        if first is not None and second is not None and (first := root(first)) != (second := root(second)):
            roots[max(first, second)] = min(first, second)
    found: dict[int, list[Span]] = {}
    for place, span in enumerate(spans):
        found.setdefault(root(place), []).append(span)
    return list(found.values())


def span_holding(spans: Sequence[Span], index: int) -> int | None:
    """Returns the number of the span that holds the message."""
    place = bisect_right(spans, index, key=_start) - 1
    return place if place >= 0 and index < spans[place][1] else None


def _start(span: Span) -> int:
    return span[0]
