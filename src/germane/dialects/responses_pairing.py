"""Responses pairing: matches the calls and outputs of a Responses conversation, whose items stand one by one.

The Responses API pairs a call and its output by `call_id`, wherever the output stands behind the call. A reasoning item must be
followed by what came of it. Orphans become text in the same place, and a reasoning item without what followed it is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Protocol

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.fields import result_as_text
from germane.dialects.openai_content import KIND, OUTPUTS, call_id
from germane.dialects.pairing import close_orphans
from germane.types.message import Message, Opaque, Part, Text, ToolCall, ToolResult

MAX_ID = 64
"""Characters of a `call_id`."""
_NAMELESS = ("", "function_call", "custom_tool_call", *OUTPUTS.values())
"""Types of items that the API takes without an id of its own."""
_LOOSE = ("item_reference", "program")
"""Types of items behind which the server may hold calls that the input doesn't show."""


def pair_items(turns: Sequence[OutgoingMessage]) -> list[OutgoingMessage]:
    """Returns the conversation as one item a turn, each call with one output behind it, under an id of its own."""
    split = [(index, item) for index, turn in enumerate(turns) for item in _exploded(turn)]
    sources, items = [index for index, _ in split], [item for _, item in split]
    matched = _match(items, _behind_results(turns, sources))
    kept = {index for pair in matched for index in pair}
    unseen = continues([item_type(item) or item.message.role for item in items])
    taken = {call.id for item in items for call in item.message.tool_calls}
    fresh = (id for n in count(1) if (id := f"call_{n}") not in taken)
    used: set[str] = set()
    for start, end in matched:
        call, result = items[start], items[end]
        id = call.message.tool_calls[0].id
        # The API refuses ids that are too long or come twice: both halves of the pair get a new one.
        if not 0 < len(id) <= MAX_ID or id in used:
            id = next(fresh)
        used.add(id)
        same = OUTPUTS.get(_type(call, "function_call")) == _type(result, "function_call_output")
        items[start], items[end] = _with_id(call, id, same=same), _with_id(result, id, same=same)
    groups: list[list[OutgoingMessage]] = []
    for index, item in enumerate(items):
        orphan = index not in kept and bool(item.message.tool_calls or item.message.tool_results)
        # Its call may be in a stored response that only the server knows: the output stays as the caller gave it.
        if orphan and unseen and item.native is not None and item.message.tool_results:
            orphan = False
        item = close_orphans(item) if orphan else item
        # What one message said in several parts was split to be paired, and is one item again.
        if index and sources[index] == sources[index - 1] and _is_said(groups[-1][-1]) and _is_said(item):
            groups[-1].append(item)
        else:
            groups.append([item])
    return list(_followed(_named_once([_joined(group) for group in groups])))


def orphaned_items(turns: Sequence[OutgoingMessage]) -> Iterator[int]:
    """Yields the indexes of the turns in which `pair_items` writes a call or an output as text."""
    split = [(index, item) for index, turn in enumerate(turns) for item in _exploded(turn)]
    items = [item for _, item in split]
    kept = {place for pair in _match(items, _behind_results(turns, [index for index, _ in split])) for place in pair}
    unseen = continues([item_type(item) or item.message.role for item in items])
    for place, (index, item) in enumerate(split):
        lost = place not in kept and bool(item.message.tool_calls or item.message.tool_results)
        if lost and not (unseen and item.native is not None and item.message.tool_results):
            yield index
    written = {index for index, _ in split}
    for index, turn in enumerate(turns):
        wrong = turn.native is None and turn.message.role != "assistant" and bool(turn.message.tool_calls)
        if wrong or (index in written and turn.message.role in ("assistant", "system") and turn.message.tool_results):
            yield index


def continues(kinds: Sequence[str]) -> bool:
    """Returns whether outputs may answer calls that only the server knows: where the input refers to the server's items, or
    holds nothing that the model said (the caller continues a stored response)."""
    return any(kind in _LOOSE for kind in kinds) or not any(
        kind in ("assistant", "reasoning") or kind.endswith("_call") or kind.startswith("mcp_") for kind in kinds
    )


def item_type(turn: OutgoingMessage) -> str:
    """Returns the type of the item, as which the caller gave it or germane will write it; '' for a message."""
    raw = _own(turn)
    kind = raw.get("type") if raw is not None else None
    if isinstance(kind, str) and kind != "message":
        return kind
    if raw is not None and "role" not in raw:
        return "item_reference"
    return "function_call" if turn.message.tool_calls else "function_call_output" if turn.message.tool_results else ""


def windows(items: Sequence[OutgoingMessage]) -> list[int]:
    """Returns for each item the index before which text may stand that belongs in front of it: its own, or that of the model's
    turn whose call is still without its output there."""
    ends: dict[str, int] = {}
    for index, item in enumerate(items):
        for result in item.message.tool_results:
            ends[result.call_id] = index
    places: list[int] = []
    run = place = 0
    end = -1
    for index, item in enumerate(items):
        places.append(place if index <= end else index)
        if not index or items[index - 1].message.role != "assistant":
            run = index
        for call in item.message.tool_calls:
            place = place if index <= end else run
            end = max(end, ends.get(call.id, -1))
    return places


class CallLike(Protocol):
    """What pairs a call: its id and its tool's name."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...


class WaitingCalls:
    """Mutable. The calls without an output so far, by numbers of the caller's. Those of the run that is being answered come
    first, in order; earlier ones are found by their ids only, the newest run first, and in each run in order too: what leaves
    between a run and a result so doesn't change which of its calls the result answers."""

    __slots__ = ("answered", "older", "run", "taken")

    def __init__(self) -> None:
        self.run: dict[tuple[str, str], deque[int]] = {}
        self.older: dict[str, list[int]] = {}
        self.taken: set[int] = set()
        self.answered = False

    def add(self, index: int, call: CallLike) -> None:
        """Adds a call under this number."""
        if self.answered:
            for (kind, name), indexes in self.run.items():
                if kind == "id":
                    self.older.setdefault(name, []).extend(reversed(indexes))
            self.run, self.answered = {}, False
        for key in (("id", call.id), ("name", call.name), ("any", "")):
            if (waiting := self.run.get(key)) is None:
                self.run[key] = deque((index,))
            else:
                waiting.append(index)

    def answer(self, result: ToolResult) -> int | None:
        """Returns the number of the call that the result answers, which waits no longer; None for a result without a call."""
        self.answered = True
        key = ("id", result.call_id) if result.call_id else ("name", result.name) if result.name else ("any", "")
        waiting = self.run.get(key)
        while waiting:
            if (index := waiting.popleft()) not in self.taken:
                self.taken.add(index)
                return index
        older = self.older.get(result.call_id) if result.call_id else None
        while older:
            if (index := older.pop()) not in self.taken:
                self.taken.add(index)
                return index
        return None


def _behind_results(turns: Sequence[OutgoingMessage], sources: Sequence[int]) -> frozenset[int]:
    """The places of the first items of turns behind results that were taken away. `sources` are the items' turns."""
    firsts = (place for place, index in enumerate(sources) if not place or sources[place - 1] != index)
    return frozenset(place for place in firsts if turns[sources[place]].behind_results)


def _match(items: Sequence[OutgoingMessage], behind_results: Collection[int]) -> list[tuple[int, int]]:
    """Returns the indexes of each call with its output."""
    waiting = WaitingCalls()
    found: list[tuple[int, int]] = []
    for index, item in enumerate(items):
        if index in behind_results:
            waiting.answered = True
        for part in item.message.parts[:1]:
            if isinstance(part, ToolCall):
                waiting.add(index, part)
            elif isinstance(part, ToolResult) and (start := waiting.answer(part)) is not None:
                found.append((start, index))
    return found


def _exploded(turn: OutgoingMessage) -> Iterator[OutgoingMessage]:
    """Yields one turn for each item that the message becomes: results, then what was said, then calls."""
    message = turn.message
    if turn.native is not None:
        yield turn
        return
    if (message.tool_calls and message.role != "assistant") or (message.tool_results and message.role == "system"):
        turn = close_orphans(turn)
        message = turn.message
    if len(message.parts) < 2:
        yield turn if message.tool_results or message.role != "tool" else close_orphans(turn)
        return
    said: list[Part] = []
    first: list[Part] = []
    last: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult) and message.role == "assistant":
            said.append(Text(result_as_text(part)))
        elif isinstance(part, ToolResult):
            first.append(part)
        elif isinstance(part, ToolCall):
            last.append(part)
        elif isinstance(part, Opaque) and part.kind.startswith(KIND):
            # An item of the API's own stands where it stood: before what was said, or behind it with the calls.
            (first if not said and not first else last).append(part)
        else:
            said.append(part)
    role = "user" if message.role == "tool" else message.role
    for part in first:
        yield OutgoingMessage(message=replace(message, role="tool" if isinstance(part, ToolResult) else role, parts=(part,)))
    if said:
        yield OutgoingMessage(message=replace(message, role=role, parts=tuple(said)), late=turn.late, pinned=turn.pinned)
    for part in last:
        yield OutgoingMessage(message=replace(message, role=role, parts=(part,)))


def _named_once(items: Sequence[OutgoingMessage]) -> Iterator[OutgoingMessage]:
    """Yields the items with each of the API's ids at most once: what repeats it stands without an id, or not at all. What came
    of reasoning that is repeated loses its id with it."""
    seen: set[str] = set()
    alone = False
    for item in items:
        id, kind = (_own(item) or {}).get("id"), item_type(item)
        name = id if isinstance(id, str) and kind not in ("item_reference", "local_shell_call_output") else ""
        repeated = name in seen
        if kind == "reasoning":
            alone = repeated
        elif item.message.role != "assistant":
            alone = False
        if repeated or alone:
            yield from _without_id(item)
            continue
        if name:
            seen.add(name)
        yield item


def _followed(items: Iterable[OutgoingMessage]) -> Iterator[OutgoingMessage]:
    """Yields the items without reasoning that isn't followed by what came of it. What else came of it loses its id, because the
    API asks for the reasoning of an item that it knows."""
    run: list[OutgoingMessage] = []
    for item in items:
        if item.message.role == "assistant" or item_type(item) == "reasoning":
            run.append(item)
            continue
        yield from _reasoned(run)
        run = []
        yield item
    yield from _reasoned(run)


def _reasoned(run: Sequence[OutgoingMessage]) -> Iterator[OutgoingMessage]:
    """Yields a run of the model's items, in which each reasoning is directly before what came of it."""
    followed, follows = list[bool](), False
    """For each item, from the last to the first: whether what follows, but for reasoning, may have come of reasoning."""
    for item in reversed(run):
        followed.append(follows)
        if item_type(item) != "reasoning":
            follows = not _is_said(item)
    alone = False
    for item, follows in zip(run, reversed(followed), strict=True):
        if item_type(item) == "reasoning":
            alone = not follows
            if not alone:
                yield item
        elif alone:
            yield from _without_id(item)
        else:
            yield item


def _without_id(item: OutgoingMessage) -> Iterator[OutgoingMessage]:
    """Yields the item without the API's id, or nothing where it can't be without."""
    raw = item.native
    if raw is None:
        if _own(item) is None:
            yield item
    elif item_type(item) in _NAMELESS:
        yield replace(item, native={key: value for key, value in raw.items() if key != "id"})


def _joined(group: Sequence[OutgoingMessage]) -> OutgoingMessage:
    """Returns what is left of one message, without its paired calls and results, as one again."""
    if len(group) == 1:
        return group[0]
    parts = tuple(part for item in group for part in item.message.parts)
    late = next((item.late for item in group if item.late), "")
    return replace(group[0], message=replace(group[0].message, parts=parts), late=late)


def _is_said(item: OutgoingMessage) -> bool:
    """Returns whether germane writes the item as a message."""
    return item.native is None and _own(item) is None and not (item.message.tool_calls or item.message.tool_results)


def _own(turn: OutgoingMessage) -> Mapping[str, Any] | None:
    """Returns the item as the caller gave it; None where germane writes it."""
    if turn.native is not None:
        return turn.native
    match turn.message.parts:
        case (Opaque(kind=kind, raw=raw),) if kind.startswith(KIND):
            return raw
    return None


def _type(turn: OutgoingMessage, otherwise: str) -> str:
    return otherwise if turn.native is None else str(turn.native.get("type"))


def _with_id(turn: OutgoingMessage, id: str, *, same: bool) -> OutgoingMessage:
    """Returns the call or the output under this id. `same` says whether the types of both fit; else it is written anew."""
    message = _renamed(turn.message, id)
    if turn.native is None or not same:
        return replace(turn, message=message, native=None)
    if call_id(turn.native) == id:
        return replace(turn, message=message)
    key = "id" if turn.native.get("type") == "local_shell_call_output" and "call_id" not in turn.native else "call_id"
    return replace(turn, message=message, native={**turn.native, key: id})


def _renamed(message: Message, id: str) -> Message:
    part, *rest = message.parts
    if isinstance(part, ToolCall):
        return replace(message, parts=(replace(part, id=id), *rest))
    if isinstance(part, ToolResult):
        return replace(message, parts=(replace(part, call_id=id), *rest))
    return message
