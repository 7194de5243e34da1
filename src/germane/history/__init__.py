"""History: compaction of a long conversation on its own, without a store: the messages that fit, and nothing lost that matters.

from germane.history import compact

compaction = compact(messages, model="gpt-4o", max_tokens=8_000)
client.chat.completions.create(model="gpt-4o", messages=compaction.messages)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from germane.api.summarising import summary_worker
    from germane.api.summary_worker import SummaryWorker
    from germane.compaction.archive import Archive, ArchiveEntry
    from germane.compaction.compaction import Compaction
    from germane.compaction.rebuild import rebuild
    from germane.compaction.strategy import Importance, Summarise, TimeDecay, Truncate
    from germane.compaction.summary import SpanSummary
    from germane.history.archives import FolderArchive, MemoryArchive
    from germane.history.compacting import compact
    from germane.history.compactor import Compactor
    from germane.history.recompacting import recompact
    from germane.history.showing import show_earlier, tool_definition

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
    "api.summarising": ("summary_worker",),
    "api.summary_worker": ("SummaryWorker",),
    "compaction.archive": ("Archive", "ArchiveEntry"),
    "compaction.rebuild": ("rebuild",),
    "compaction.compaction": ("Compaction",),
    "compaction.strategy": ("Importance", "Summarise", "TimeDecay", "Truncate"),
    "compaction.summary": ("SpanSummary",),
    "history.archives": ("FolderArchive", "MemoryArchive"),
    "history.compacting": ("compact",),
    "history.compactor": ("Compactor",),
    "history.recompacting": ("recompact",),
    "history.showing": ("show_earlier", "tool_definition"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"germane.{home}"), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
