"""Germane: a context assembly engine for LLM agents.

    async with Germane.open("germane.db") as germane:
        agent = germane.agent("support", org="acme", user="caroline")
        await agent.record(messages, session="s1")
        context = await agent.assemble(messages, model="gpt-4o")

`germane.sync` is the same without `await`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane
    from germane.api.strategies import Strategies, derive
    from germane.clock import Clock
    from germane.engine.engine import State
    from germane.errors import (
        Conflict,
        ConsentNeeded,
        EmbedderError,
        GermaneError,
        InvalidInput,
        LLMError,
        MissingExtra,
        NotFound,
        NotPermitted,
        Stale,
        StoreCorrupt,
        StoreError,
        StoreTooNew,
        StoreUnavailable,
        UnknownName,
    )
    from germane.kinds.blocks.value import Block
    from germane.kinds.memories.value import Memory
    from germane.settings.settings import Settings
    from germane.types.candidate import Candidate, Chosen, Provenance, Scored
    from germane.types.context import Context, Metadata
    from germane.types.message import Message
    from germane.types.query import Filters
    from germane.types.scope import Scope
    from germane.types.strategy import Cap, Shares, SourcePlan, Strategy, Weights
    from germane.types.trace import Trace


__all__ = [
    "Agent",
    "Block",
    "Candidate",
    "Cap",
    "Chosen",
    "Clock",
    "Conflict",
    "ConsentNeeded",
    "Context",
    "EmbedderError",
    "Filters",
    "Germane",
    "GermaneError",
    "InvalidInput",
    "LLMError",
    "Memory",
    "Message",
    "Metadata",
    "MissingExtra",
    "NotFound",
    "NotPermitted",
    "Provenance",
    "Scope",
    "Scored",
    "Settings",
    "Shares",
    "SourcePlan",
    "Stale",
    "State",
    "StoreCorrupt",
    "StoreError",
    "StoreTooNew",
    "StoreUnavailable",
    "Strategies",
    "Strategy",
    "Trace",
    "UnknownName",
    "Weights",
    "derive",
]

_HOMES = {
    "api.agent": ("Agent",),
    "kinds.blocks.value": ("Block",),
    "clock": ("Clock",),
    "types.context": ("Context", "Metadata"),
    "errors": (
        *("Conflict", "ConsentNeeded", "EmbedderError", "GermaneError", "InvalidInput", "LLMError", "MissingExtra"),
        *("NotFound", "NotPermitted", "Stale", "StoreCorrupt", "StoreError", "StoreTooNew", "StoreUnavailable", "UnknownName"),
    ),
    "api.germane": ("Germane",),
    "types.candidate": ("Candidate", "Chosen", "Provenance", "Scored"),
    "kinds.memories.value": ("Memory",),
    "types.message": ("Message",),
    "types.query": ("Filters",),
    "types.scope": ("Scope",),
    "settings.settings": ("Settings",),
    "engine.engine": ("State",),
    "api.strategies": ("Strategies", "derive"),
    "types.strategy": ("Cap", "Shares", "SourcePlan", "Strategy", "Weights"),
    "types.trace": ("Trace",),
}
"""Where each name lives: it is imported when first asked for, so that `import germane` costs nothing that isn't used."""


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"germane.{home}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
