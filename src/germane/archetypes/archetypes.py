"""Archetypes by name: those that come with germane, those made in code, and those written in TOML."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from germane.archetypes.archetype import Archetype, ContextWeights
from germane.archetypes.builtin import BUILT_IN, EXTRACTORS
from germane.archetypes.derive import derive_archetype
from germane.archetypes.findings import Extractor
from germane.errors import InvalidInput, UnknownName
from germane.types.limits import NAME, shown, text

__all__ = ["Archetypes"]

_PLAIN = Archetype(
    name="plain",
    weights=ContextWeights(recency=0.3, relevance=0.5, salience=0.2),
    shares={"recent": 20, "semantic": 35, "entities": 20, "relations": 20, "patterns": 5},
)
"""What `create` starts from: no extractors, the weights and shares of coding."""


class Archetypes:
    """The registry of one `Germane`. Registering in one changes no other."""

    def __init__(self, written: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """`written` holds the tables `[archetypes.<name>]` of the settings; each is derived from the archetype that its `like`
        names, or made anew without one. Raises `InvalidInput`."""
        self._known: dict[str, Archetype] = {}
        self._registered: Callable[[Archetype], None] = lambda _: None
        for archetype in BUILT_IN:
            self.register(archetype)
        waiting = {name: dict(table) for name, table in (written or {}).items()}
        while waiting:
            ready = [
                name for name, table in waiting.items() if table.get("like") not in [one for one in waiting if one != name]
            ]
            if not ready:
                raise InvalidInput(f"archetypes {', '.join(waiting)} are each like another of them: one must stand by itself")
            for name in ready:
                changes = waiting.pop(name)
                like = changes.pop("like", None)
                self.register(self._derived(_PLAIN if like is None else self.find(like), name, changes))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._known))

    def when_registered(self, listener: Callable[[Archetype], None]) -> None:
        """Sets the function that is called with each archetype before it is registered; an exception of it prevents that."""
        self._registered = listener

    def find(self, wanted: str | Archetype) -> Archetype:
        """Returns a registered archetype by its name, or the given one. Raises `UnknownName` with the names that are known."""
        if isinstance(wanted, Archetype):
            return wanted
        if isinstance(wanted, str):
            text("archetype", wanted, NAME)
        try:
            return self._known[wanted]
        except (KeyError, TypeError):
            raise UnknownName(f"unknown archetype {shown(wanted)}: use one of {', '.join(self)}, or an Archetype") from None

    def register(self, archetype: Archetype) -> Archetype:
        """Registers an archetype under its name, and returns it; one of that name is replaced. Raises `InvalidInput`."""
        if not isinstance(archetype, Archetype):
            raise InvalidInput(f"archetype must be an Archetype, not {type(archetype).__name__}")
        self._registered(archetype)
        self._known[archetype.name] = archetype
        return archetype

    def create(self, name: str, **settings: Any) -> Archetype:
        """Makes an archetype of its own, registers and returns it. Raises `InvalidInput`, also where the name is taken."""
        if name in self._known:
            raise InvalidInput(
                f"archetype {shown(name)} exists: extend it under another name, or register another in its place"
            )
        return self.register(self._derived(_PLAIN, name, settings))

    def extend(self, base: str | Archetype, name: str, **changes: Any) -> Archetype:
        """Makes an archetype from another one with `changes`, which are merged deeply, registers and returns it. Raises
        `InvalidInput` and `UnknownName`."""
        return self.register(self._derived(self.find(base), name, changes))

    def _derived(self, base: Archetype, name: str, changes: Mapping[str, Any]) -> Archetype:
        if "name" in changes:
            raise InvalidInput(f"archetype {shown(name)}: its name is given by itself, not among its settings")
        known: dict[str, Extractor] = {**EXTRACTORS}
        for archetype in self._known.values():
            known |= archetype.extractors
        return derive_archetype(base, {**changes, "name": name}, known=known)
