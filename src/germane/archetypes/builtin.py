"""Built-in archetypes: coding, support and research, and the extractors that tables in TOML may name (GRAPH-5).

The requirement shares all of the budget out between recent, semantic, entities and relations, and wants a share for patterns
too. Patterns are few and short, so theirs are 5 of the 100 points, and come from semantic, whose share is the largest in all
three. What patterns leave, the others use.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from germane.archetypes import causes, coding, research, support
from germane.archetypes.archetype import Archetype, ContextWeights
from germane.archetypes.findings import Extractor
from germane.archetypes.names import names

__all__ = ["BUILT_IN", "CODING", "EXTRACTORS", "RESEARCH", "SUPPORT"]

_CODING: Mapping[str, Extractor] = MappingProxyType(
    {
        "files": coding.files,
        "symbols": coding.symbols,
        "imports": coding.imports,
        "commands": coding.commands,
        "errors": coding.errors,
        "tests": coding.tests,
        "causes": causes.causes,
        "fixes": causes.fixes,
    }
)
_SUPPORT: Mapping[str, Extractor] = MappingProxyType(
    {
        "customers": support.customers,
        "tickets": support.tickets,
        "orders": support.orders,
        "products": support.products,
        "names": names,
    }
)
_RESEARCH: Mapping[str, Extractor] = MappingProxyType(
    {
        "sources": research.sources,
        "authors": research.authors,
        "claims": research.claims,
        "topics": research.topics,
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
