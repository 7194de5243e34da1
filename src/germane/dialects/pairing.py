"""Pairing: keeps tool calls and their results together, turns orphans into text, and joins messages (INJECT-4).

Providers accept a call only if its result follows at once, and a result only right after its call. A call or result that
has lost the other is an orphan: it becomes text in the same place. Messages that need no change keep the caller's own dict.
This module works on whole conversations and knows no provider's format.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.fields import call_as_text, result_as_text
from germane.dialects.opaque import prefix_bound
from germane.types.message import Message, Opaque, Part, Text, ToolCall, ToolResult

_ANY = ("any", "")


def pair_calls(
    turns: Sequence[OutgoingMessage], *, fits: Callable[[str], object] | None = None, lenient: bool = False
) -> list[OutgoingMessage]:
    """Returns `turns` with every orphan as text, and with ids that the provider accepts.

    `fits` returns whether the provider accepts an id; None for a provider without ids. A call whose id doesn't fit, or was used
    before, gets a new one (`call_1`, `call_2` …), and so do its results. `lenient` leaves exchanges unchanged that consist of
    the caller's own dicts only. Where the assistant's messages behind a call stand before its result, they have `joins`.
    """
    if not any(turn.message.role == "tool" or _has_tools(turn.message) for turn in turns):
        return list(turns)
    turns = join_calls(turns)
    taken = {call.id for turn in turns for call in turn.message.tool_calls}
    fresh = (id for n in count(1) if (id := f"call_{n}") not in taken)
    used: set[str] = set()
    out: list[OutgoingMessage] = []
    index = 0
    while index < len(turns):
        turn = turns[index]
        if turn.message.role != "assistant" or not turn.message.tool_calls:
            out.append(close_orphans(turn))
            index += 1
            continue
        middle = end_of_calls(turns, index)
        end = end_of_results(turns, middle)
        group, window = turns[index:middle], turns[middle:end]
        calls = [call for each in group for call in each.message.tool_calls]
        answered = match_results(calls, window)
        kept, own = set(answered.values()), set[str]()
        alone = lenient and all(each.native is not None for each in (*group, *window))
        ids: dict[int, str] = {}
        for n, call in enumerate(calls):
            twice = call.id != "" and call.id in (own if alone else used)
            unfit = fits is not None and not alone and not fits(call.id)
            bad = fits is not None and n in kept and (twice or unfit)
            ids[n] = next(fresh) if bad else call.id
            used.add(ids[n])
            own.add(ids[n])
        out.extend(_write_group(group, ids, kept))
        out.extend(_write_results(window, calls, ids, answered, named=fits is None))
        index = end
    return out


def join_calls(turns: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
    """Returns `turns` with calls in a row as one message of the assistant's: most providers take parallel calls so. The
    caller's own dicts stay as they are."""
    out: list[OutgoingMessage] = []
    run: list[OutgoingMessage] = []
    for turn in turns:
        if turn.native is None and turn.message.role == "assistant" and (run or turn.message.tool_calls):
            run.append(turn)
            continue
        out += _one_turn(run)
        run = []
        out.append(turn)
    return out + _one_turn(run)


def _one_turn(run: list[OutgoingMessage]) -> list[OutgoingMessage]:
    """Returns the assistant's messages up to the last one with calls as one, then the others."""
    end = max((index for index, turn in enumerate(run) if turn.message.tool_calls), default=-1) + 1
    if end < 2:
        return run
    return [_as_one(run[:end]), *run[end:]]


def _as_one(run: Sequence[OutgoingMessage]) -> OutgoingMessage:
    parts = tuple(part for turn in run for part in turn.message.parts)
    return replace(run[0], message=replace(run[0].message, parts=parts))


def join_behind_calls(turns: Iterable[OutgoingMessage]) -> list[OutgoingMessage]:
    """Returns what `pair_calls` returned, with each message that `joins` as a part of the one before, so that a dialect orders
    the parts of both together. The caller's own dicts stay as they are."""
    runs: list[list[OutgoingMessage]] = []
    for turn in turns:
        if turn.joins and turn.native is None and runs and runs[-1][-1].native is None:
            runs[-1].append(turn)
        else:
            runs.append([turn])
    return [_as_one(run) if len(run) > 1 else run[0] for run in runs]


def _has_tools(message: Message) -> bool:
    return any(isinstance(part, ToolCall | ToolResult) for part in message.parts)


def end_of_calls(turns: Sequence[OutgoingMessage], index: int) -> int:
    """Returns the index after the assistant's turn whose first call is at `index`: after the last of its messages in a row.
    Frameworks and transcripts hold the parallel calls of one answer as several messages."""
    while index < len(turns) and turns[index].message.role == "assistant":
        index += 1
    return index


def end_of_results(turns: Sequence[OutgoingMessage], index: int) -> int:
    """Returns the index after the results of a call: they end after the first message in which the user speaks too, or before a
    message without results."""
    while index < len(turns) and turns[index].message.role in ("tool", "user") and turns[index].message.tool_results:
        index += 1
        if turns[index - 1].message.role == "user" and any(
            not isinstance(p, ToolResult) for p in turns[index - 1].message.parts
        ):
            break
    return index


def match_results(calls: Sequence[ToolCall], window: Sequence[OutgoingMessage]) -> dict[tuple[int, int], int]:
    """Returns for each result, by (turn, part), the index of the call it answers: matched by id, else by name, else (for a
    result with neither) in order."""
    waiting: dict[tuple[str, str], deque[int]] = {}
    for n, call in enumerate(calls):
        for key in {("id", call.id), ("name", call.name), _ANY}:
            waiting.setdefault(key, deque()).append(n)
    answered: dict[tuple[int, int], int] = {}
    taken: set[int] = set()
    for turn_index, turn in enumerate(window):
        for part_index, part in enumerate(turn.message.parts):
            if isinstance(part, ToolResult):
                key = ("id", part.call_id) if part.call_id else ("name", part.name) if part.name else _ANY
                if (found := _first(waiting.get(key), taken)) is not None:
                    answered[turn_index, part_index] = found
                    taken.add(found)
    return answered


def _first(waiting: deque[int] | None, taken: Set[int]) -> int | None:
    while waiting:
        if (n := waiting.popleft()) not in taken:
            return n
    return None


def _write_group(group: Sequence[OutgoingMessage], ids: dict[int, str], kept: set[int]) -> Iterator[OutgoingMessage]:
    """Yields the messages of an assistant's turn. Those behind the first call that has its result join the one before: the
    result has to follow the call."""
    first, joins = 0, False
    for turn in group:
        calls = len(turn.message.tool_calls)
        written = _write_calls(turn, ids, kept, first)
        yield replace(written, joins=True) if joins else written
        joins = joins or not kept.isdisjoint(range(first, first + calls))
        first += calls


def _write_calls(turn: OutgoingMessage, ids: dict[int, str], kept: set[int], first: int) -> OutgoingMessage:
    """Returns the message with each call that has no result as text. `first` is the number of its first call."""
    parts: list[Part] = []
    n = first
    same = True
    for part in turn.message.parts:
        match part:
            case ToolCall():
                same = same and n in kept and ids[n] == part.id
                parts.append((part if ids[n] == part.id else replace(part, id=ids[n])) if n in kept else _closed(part))
                n += 1
            case ToolResult():
                same = False
                parts.append(Text(result_as_text(part)))
            case _:
                parts.append(part)
    if same:
        return turn
    sequel = tuple(_sequel(turn.message.parts, parts))
    return replace(turn, message=replace(turn.message, parts=sequel), native=None)


def _sequel(before: Sequence[Part], after: Sequence[Part]) -> Iterator[Part]:
    """Yields the parts after a change without those that their provider refuses behind a changed one."""
    changed = False
    for old, new in zip(before, after, strict=True):
        changed = changed or old is not new
        if not (changed and isinstance(new, Opaque) and prefix_bound(new)):
            yield new


def _write_results(
    window: Sequence[OutgoingMessage],
    calls: Sequence[ToolCall],
    ids: dict[int, str],
    answered: dict[tuple[int, int], int],
    *,
    named: bool,
) -> list[OutgoingMessage]:
    """Returns the messages that answer a call: those with results first, then all other parts. `named` means that the provider
    pairs by name, so that a result must have its call's name."""
    first: list[OutgoingMessage] = []
    after: list[OutgoingMessage] = []
    for turn_index, turn in enumerate(window):
        results: list[Part] = []
        rest: list[Part] = []
        same = True
        for part_index, part in enumerate(turn.message.parts):
            n = answered.get((turn_index, part_index))
            if not isinstance(part, ToolResult):
                same = same and not isinstance(part, ToolCall)
                rest.append(_as_text(part))
            elif n is None:
                same = False
                rest.append(Text(result_as_text(part)))
            else:
                same = same and (part.call_id == ids[n] or (not part.call_id and ids[n] == calls[n].id))
                same = same and not (named and part.name != calls[n].name)
                results.append(replace(part, call_id=ids[n], name=calls[n].name))
        if same and turn.native is not None:
            first.append(replace(turn, message=replace(turn.message, parts=(*results, *rest))))
            continue
        if results:
            first.append(OutgoingMessage(message=replace(turn.message, role="tool", parts=tuple(results))))
        if rest:
            own = replace(turn.message, role="user", parts=tuple(rest))
            after.append(OutgoingMessage(message=own, late=turn.late, late_pinned=turn.late_pinned))
    return first + after


def close_orphans(turn: OutgoingMessage) -> OutgoingMessage:
    """Returns a message outside any exchange with its calls and results, which are orphans, as text."""
    message = turn.message
    if message.role != "tool" and not _has_tools(message):
        return turn
    role = "user" if message.role == "tool" else message.role
    parts = tuple(_sequel(message.parts, [*map(_as_text, message.parts)]))
    return replace(turn, message=replace(message, role=role, parts=parts), native=None)


def _as_text(part: Part) -> Part:
    match part:
        case ToolCall():
            return _closed(part)
        case ToolResult():
            return Text(result_as_text(part))
        case _:
            return part


def _closed(call: ToolCall) -> Text:
    """A call as text, with the signed part that it was."""
    return Text(call_as_text(call), raw=call.raw)


# Joins consecutive messages of one role, for providers that require alternating roles. Conversations with these
# providers also start with the user: a user's message is put in front where one is missing. Two consecutive dicts of
# the caller's stay separate: these providers join them themselves. The exception are the calls and the results of one
# exchange of tool calls, which must be in one message each.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderMessage:
    """A message in the provider's shape. `native` is set where it is the caller's own dict; `answers` says whether it holds
    tool results, `joins` whether it belongs to the message before."""

    role: str
    parts: list[Any]
    native: Mapping[str, Any] | None = field(default=None, hash=False)
    answers: bool = False
    joins: bool = False


def merge_by_role(turns: Sequence[ProviderMessage], key: str, start: list[dict[str, Any]]) -> list[Any]:
    """Returns the provider's messages, with their parts under `key`. Empty messages are left out. A user's message with the
    parts `start` comes first where the conversation doesn't begin with one of the user's."""
    runs: list[list[ProviderMessage]] = []
    for turn in turns:
        if not turn.parts:
            continue
        before = runs[-1][-1] if runs else None
        if (
            before
            and before.role == turn.role
            and not (before.native and turn.native and not turn.joins and not (before.answers and turn.answers))
        ):
            runs[-1].append(turn)
        else:
            runs.append([turn])
    out: list[Any] = []
    if not runs or runs[0][0].role != "user":
        out.append({"role": "user", key: start})
    for run in runs:
        if len(run) == 1 and run[0].native is not None:
            out.append(run[0].native)
        else:
            out.append({"role": run[0].role, key: [part for turn in run for part in turn.parts]})
    return out
