"""Attribution: from what the rendered text calls an item to where it came from (FORMAT-6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from germane.types.candidate import Chosen, Provenance

__all__ = ["Attribution", "attribute"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """The item's id, the source that offered it, and where it came from."""

    id: str
    source: str
    provenance: Provenance


def attribute(items: Iterable[Chosen]) -> Mapping[str, Attribution]:
    """By handle, in rendered order. `items` are a `Written`'s: their handles are set."""
    return {item.handle: Attribution(id=item.id, source=item.source, provenance=item.provenance) for item in items}
