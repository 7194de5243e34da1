"""Growing: a sequence that is never changed, and of which a longer one is made without a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

__all__ = ["Growing"]

T = TypeVar("T")


class Growing(Sequence[T], Generic[T]):
    """The first `len(self)` items of a list that others may share and that only ever gets longer. So a state that is replaced
    with each step may hold all that happened since the beginning: adding to it costs what is added."""

    __slots__ = ("_items", "_length")

    def __init__(self, items: Iterable[T] = ()) -> None:
        self._items = list(items)
        self._length = len(self._items)

    def plus(self, items: Iterable[T]) -> Growing[T]:
        """Returns a sequence with these items behind its own. Only a second one that is made of the same sequence copies it."""
        more: Growing[T] = Growing()
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
        if not isinstance(other, Growing) or len(other) != self._length:
            return False
        return self._items is other._items or all(one == same for one, same in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(self._length)

    def __repr__(self) -> str:
        return f"<Growing {self._length}>"
