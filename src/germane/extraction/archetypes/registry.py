"""Registry: archetypes by name: the built-in ones, those made in code, and those written in TOML (GRAPH-5)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from germane.errors import InvalidInput, UnknownName
from germane.extraction.archetypes import coding, extractors
from germane.extraction.archetypes.extractors import names
from germane.extraction.archetypes.findings import Extractor
from germane.extraction.archetypes.value import Archetype, ContextWeights, derive_archetype
from germane.types.checks import check_text
from germane.types.limits import NAME

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
            check_text("archetype", wanted, NAME)
        try:
            return self._known[wanted]
        except (KeyError, TypeError):
            raise UnknownName("unknown archetype {}", wanted, advice=f"use one of {', '.join(self)}, or an Archetype") from None

    def register(self, archetype: Archetype) -> Archetype:
        """Registers an archetype under its name, and returns it; one of that name is replaced. Raises `InvalidInput`."""
        if not isinstance(archetype, Archetype):
            raise InvalidInput(f"must be an Archetype, not {type(archetype).__name__}", path="archetype")
        self._registered(archetype)
        self._known[archetype.name] = archetype
        return archetype

    def create(self, name: str, **settings: Any) -> Archetype:
        """Makes an archetype of its own, registers and returns it. Raises `InvalidInput`, also where the name is taken."""
        if name in self._known:
            raise InvalidInput(
                "archetype {} exists", name, advice="extend it under another name, or register another in its place"
            )
        return self.register(self._derived(_PLAIN, name, settings))

    def extend(self, base: str | Archetype, name: str, **changes: Any) -> Archetype:
        """Makes an archetype from another one with `changes`, which are merged deeply, registers and returns it. Raises
        `InvalidInput` and `UnknownName`."""
        return self.register(self._derived(self.find(base), name, changes))

    def _derived(self, base: Archetype, name: str, changes: Mapping[str, Any]) -> Archetype:
        if "name" in changes:
            raise InvalidInput("archetype {}: its name is given by itself, not among its settings", name)
        known: dict[str, Extractor] = {**EXTRACTORS}
        for archetype in self._known.values():
            known |= archetype.extractors
        return derive_archetype(base, {**changes, "name": name}, known=known)


# The built-in archetypes, and the extractors that tables in TOML may name. The requirement shares all of the budget out
# between recent, semantic, entities and relations, and wants a share for patterns too. Patterns are few and short, so
# theirs are 5 of the 100 points, and come from semantic, whose share is the largest in all three. What patterns leave,
# the others use.


_CODING: Mapping[str, Extractor] = MappingProxyType(
    {
        "files": coding.files,
        "symbols": coding.symbols,
        "imports": coding.imports,
        "commands": coding.commands,
        "errors": coding.errors,
        "tests": coding.tests,
        "causes": coding.causes,
        "fixes": coding.fixes,
    }
)
_SUPPORT: Mapping[str, Extractor] = MappingProxyType(
    {
        "customers": extractors.customers,
        "tickets": extractors.tickets,
        "orders": extractors.orders,
        "products": extractors.products,
        "names": names,
    }
)
_RESEARCH: Mapping[str, Extractor] = MappingProxyType(
    {
        "sources": extractors.sources,
        "authors": extractors.authors,
        "claims": extractors.claims,
        "topics": extractors.topics,
        "names": names,
    }
)
EXTRACTORS: Mapping[str, Extractor] = MappingProxyType({**_CODING, **_SUPPORT, **_RESEARCH})
"""All built-in extractors, by name."""

CODING = Archetype(
    name="coding",
    extractors=_CODING,
    weights=ContextWeights(recency=0.3, relevance=0.5, salience=0.2),
    depth=2,
    shares={"recent": 20, "semantic": 35, "entities": 20, "relations": 20, "patterns": 5},
    half_lives={"file_read": 0.5, "search": 0.5, "shell_exec": 1, "file_edit": 2, "file_write": 2, "error": 3, "decision": 14},
    intents={
        "fix": ("error", "shell_exec", "test", "file_edit", "file_write"),
        "explain": ("file_read", "search", "decision", "assistant_message"),
        "question": ("user_message", "assistant_message", "search", "decision"),
        "action": ("file_write", "file_edit", "shell_exec"),
    },
    entity_types=("file", "symbol", "package", "command", "tool", "error", "test", "ticket", "url", "commit", "task"),
)
SUPPORT = Archetype(
    name="support",
    extractors=_SUPPORT,
    weights=ContextWeights(recency=0.4, relevance=0.4, salience=0.2),
    depth=1,
    shares={"recent": 30, "semantic": 30, "entities": 20, "relations": 15, "patterns": 5},
    half_lives={"error": 7, "decision": 30, "refund": 30, "complaint": 30},
    intents={
        "fix": ("error", "complaint", "user_message"),
        "question": ("user_message", "assistant_message"),
        "action": ("decision", "refund", "shell_exec"),
    },
    entity_types=("customer", "ticket", "order", "product", "person", "organisation", "error", "url", "task"),
)
RESEARCH = Archetype(
    name="research",
    extractors=_RESEARCH,
    weights=ContextWeights(recency=0.2, relevance=0.6, salience=0.2),
    depth=3,
    shares={"recent": 10, "semantic": 45, "entities": 20, "relations": 20, "patterns": 5},
    half_lives={"search": 3, "file_read": 7, "note": 60, "finding": 90, "decision": 60},
    intents={
        "explain": ("file_read", "search", "note", "finding", "assistant_message"),
        "question": ("search", "finding", "note", "user_message"),
    },
    entity_types=("source", "person", "claim", "topic", "organisation", "place", "date", "url", "task"),
)
BUILT_IN = (CODING, SUPPORT, RESEARCH)
