"""Calls and results are paired in time that grows with their number."""

from __future__ import annotations

from germane.dialects.dialect import OutgoingMessage
from germane.dialects.pairing import pair_calls
from germane.types.message import Message, ToolCall, ToolResult


class Compared(str):
    """An id that counts how often it is compared with another."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other) if isinstance(other, str) else False

    __hash__ = str.__hash__


def comparisons(size: int, *, named: bool = False) -> int:
    ids = [Compared(f"id-{number}") for number in range(size)]
    calls = tuple(ToolCall(id=id, name=f"f{id}") for id in ids)
    results = tuple(ToolResult(call_id="" if named else str(id), text="x", name=f"f{id}") for id in reversed(ids))
    turns = [
        OutgoingMessage(message=Message(role="assistant", parts=calls)),
        OutgoingMessage(message=Message(role="tool", parts=results)),
    ]
    Compared.times = 0
    written = pair_calls(turns, fits=lambda _: True)
    assert len(written[1].message.tool_results) == size
    return Compared.times


def test_results_in_the_reverse_order_of_their_calls_are_found_at_once() -> None:
    """Each result was looked for among all calls that still waited."""
    for named in (False, True):
        assert comparisons(2_000, named=named) <= 4.5 * comparisons(500, named=named) + 100
