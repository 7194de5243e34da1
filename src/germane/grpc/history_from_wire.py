"""History from wire: reads the strategy of a compaction, in requests of either service that has one."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from germane.compaction.strategy import CompactionStrategy, Importance, Summarise, TimeDecay, Truncate
from germane.grpc.refusals import invalid
from germane.grpc.stubs import context_pb2

__all__ = ["history_strategy"]

_MADE: MappingProxyType[str, type[CompactionStrategy]] = MappingProxyType(
    {"summarise": Summarise, "truncate": Truncate, "importance": Importance, "time-decay": TimeDecay}
)


def history_strategy(wire: context_pb2.HistoryStrategy, where: str) -> CompactionStrategy:
    """Returns the strategy with its numbers. `where` names the field in errors. Raises `Refused` for an unknown name and for a
    number that the strategy doesn't have, `InvalidInput` for one that isn't allowed."""
    name = wire.name or "summarise"
    made = _MADE.get(name)
    if made is None:
        raise invalid(f"{where}.name must be one of {', '.join(_MADE)}")
    numbers: dict[str, Any] = {field.name: value for field, value in wire.ListFields() if field.name != "name"}
    if strange := sorted(numbers.keys() - set(made.__dataclass_fields__)):
        raise invalid(f"{where}.{strange[0]} is no number of {name}")
    return made(**numbers)
