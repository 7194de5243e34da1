"""Pairing: tool calls and their results stay together, whatever was cut from between or around them (INJECT-4).

Providers take a call only where its result follows at once, and a result only where its call stands right before. What has
lost its other half is closed: it stays as text, in the place where it was. A turn nothing had to be done to keeps the
caller's own dict. The whole conversation is looked at; nothing here knows how a provider writes it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from itertools import count

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.wording import closed_call, closed_result
from germane.types.message import Message, Part, Text, ToolCall, ToolResult

__all__ = ["closed", "paired"]

_ANY = ("any", "")


def paired(
    turns: Sequence[OutgoingMessage], *, fits: Callable[[str], object] | None = None, lenient: bool = False
) -> list[OutgoingMessage]:
    """`turns` with every orphan closed as text. Where the provider wants ids (`fits` says which it takes), calls without a
    fitting id or with one used before get `call_1`, `call_2`…, their results with them; `lenient` leaves exchanges alone
    that are wholly in the caller's own dicts."""
    if not any(turn.message.role == "tool" or _has_tools(turn.message) for turn in turns):
        return list(turns)
    taken = {call.id for turn in turns for call in turn.message.tool_calls}
    fresh = (id for n in count(1) if (id := f"call_{n}") not in taken)
    used: set[str] = set()
    out: list[OutgoingMessage] = []
    at = 0
    while at < len(turns):
        turn = turns[at]
        if turn.message.role != "assistant" or not turn.message.tool_calls:
            out.append(closed(turn))
            at += 1
            continue
        end = _answers_end(turns, at + 1)
        window = turns[at + 1 : end]
        answered = _match(turn.message.tool_calls, window)
        kept, own = set(answered.values()), set[str]()
        alone = lenient and all(each.native is not None for each in (turn, *window))
        ids: dict[int, str] = {}
        for n, call in enumerate(turn.message.tool_calls):
            twice = call.id in (own if alone else used)
            unfit = fits is not None and not alone and not fits(call.id)
            bad = fits is not None and n in kept and (twice or unfit)
            ids[n] = next(fresh) if bad else call.id
            used.add(ids[n])
            own.add(ids[n])
        out.append(_call_turn(turn, ids, kept))
        out.extend(_answer_turns(window, turn.message.tool_calls, ids, answered, named=fits is None))
        at = end
    return out


def _has_tools(message: Message) -> bool:
    return any(isinstance(part, ToolCall | ToolResult) for part in message.parts)


def _answers_end(turns: Sequence[OutgoingMessage], at: int) -> int:
    """Where the answers to a call end: after the first turn in which a human speaks too, or before one without results."""
    while at < len(turns) and turns[at].message.role in ("tool", "user") and turns[at].message.tool_results:
        at += 1
        if turns[at - 1].message.role == "user" and any(not isinstance(p, ToolResult) for p in turns[at - 1].message.parts):
            break
    return at


def _match(calls: Sequence[ToolCall], window: Sequence[OutgoingMessage]) -> dict[tuple[int, int], int]:
    """(turn, part) of each result → which call it answers: by id, else by name, else (a result without either) in order."""
    waiting: dict[tuple[str, str], deque[int]] = {}
    for n, call in enumerate(calls):
        for key in {("id", call.id), ("name", call.name), _ANY}:
            waiting.setdefault(key, deque()).append(n)
    answered: dict[tuple[int, int], int] = {}
    taken: set[int] = set()
    for turn_at, turn in enumerate(window):
        for part_at, part in enumerate(turn.message.parts):
            if isinstance(part, ToolResult):
                key = ("id", part.call_id) if part.call_id else ("name", part.name) if part.name else _ANY
                if (found := _first(waiting.get(key), taken)) is not None:
                    answered[turn_at, part_at] = found
                    taken.add(found)
    return answered


def _first(waiting: deque[int] | None, taken: Set[int]) -> int | None:
    while waiting:
        if (n := waiting.popleft()) not in taken:
            return n
    return None


def _call_turn(turn: OutgoingMessage, ids: dict[int, str], kept: set[int]) -> OutgoingMessage:
    parts: list[Part] = []
    n = 0
    same = True
    for part in turn.message.parts:
        match part:
            case ToolCall():
                same = same and n in kept and ids[n] == part.id
                parts.append(replace(part, id=ids[n]) if n in kept else Text(closed_call(part)))
                n += 1
            case ToolResult():
                same = False
                parts.append(Text(closed_result(part)))
            case _:
                parts.append(part)
    return turn if same else replace(turn, message=replace(turn.message, parts=tuple(parts)), native=None)


def _answer_turns(
    window: Sequence[OutgoingMessage],
    calls: Sequence[ToolCall],
    ids: dict[int, str],
    answered: dict[tuple[int, int], int],
    *,
    named: bool,
) -> list[OutgoingMessage]:
    """The answers, results first; what else these turns hold follows when all results are told. `named`: the provider pairs
    by name, so a result must bear its call's."""
    first: list[OutgoingMessage] = []
    after: list[OutgoingMessage] = []
    for turn_at, turn in enumerate(window):
        results: list[Part] = []
        rest: list[Part] = []
        same = True
        for part_at, part in enumerate(turn.message.parts):
            n = answered.get((turn_at, part_at))
            if not isinstance(part, ToolResult):
                same = same and not isinstance(part, ToolCall)
                rest.append(_as_text(part))
            elif n is None:
                same = False
                rest.append(Text(closed_result(part)))
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
            after.append(OutgoingMessage(message=replace(turn.message, role="user", parts=tuple(rest)), late=turn.late))
    return first + after


def closed(turn: OutgoingMessage) -> OutgoingMessage:
    """A turn that stands beside no exchange: its calls and results are orphans."""
    message = turn.message
    if message.role != "tool" and not _has_tools(message):
        return turn
    role = "user" if message.role == "tool" else message.role
    return replace(turn, message=replace(message, role=role, parts=tuple(map(_as_text, message.parts))), native=None)


def _as_text(part: Part) -> Part:
    match part:
        case ToolCall():
            return Text(closed_call(part))
        case ToolResult():
            return Text(closed_result(part))
        case _:
            return part
