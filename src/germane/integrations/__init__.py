"""Integrations: compaction of a conversation without a store, adapters of agent frameworks, and the memory tool.

    from germane.integrations import compact

    compaction = compact(messages, model="gpt-4o", max_tokens=8_000)
    client.chat.completions.create(model="gpt-4o", messages=compaction.messages)

Compaction on its own: the messages that fit, and nothing lost that matters.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from germane.api.workers.on_demand import summary_worker
    from germane.api.workers.summaries import SummaryWorker
    from germane.compaction.notes import SpanSummary
    from germane.compaction.plan import Compaction
    from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate
    from germane.integrations.compactor import Compactor, compact, recompact
    from germane.integrations.frameworks import FolderArchive, MemoryArchive, show_earlier, tool_definition
    from germane.kinds.conversations.messages import rebuild
    from germane.kinds.conversations.value import Archive, ArchiveEntry


__all__ = [
    "Archive",
    "ArchiveEntry",
    "Compaction",
    "Compactor",
    "FolderArchive",
    "Importance",
    "MemoryArchive",
    "SpanSummary",
    "Summarise",
    "SummaryWorker",
    "TimeDecay",
    "Truncate",
    "compact",
    "rebuild",
    "recompact",
    "show_earlier",
    "summary_worker",
    "tool_definition",
]

_HOMES = {
    "api.workers.on_demand": ("summary_worker",),
    "api.workers.summaries": ("SummaryWorker",),
    "kinds.conversations.value": ("Archive", "ArchiveEntry"),
    "kinds.conversations.messages": ("rebuild",),
    "compaction.plan": ("Compaction",),
    "compaction.strategy": ("Importance", "Summarise", "TimeDecay", "Truncate"),
    "compaction.notes": ("SpanSummary",),
    "integrations.frameworks": ("FolderArchive", "MemoryArchive", "show_earlier", "tool_definition"),
    "integrations.compactor": ("Compactor", "compact", "recompact"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"germane.{home}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
