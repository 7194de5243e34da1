"""Adapter: what the adapters of agent frameworks share: their options, and that an error never fails a run."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from germane.compaction.archive import Archive
from germane.compaction.compaction import Compaction
from germane.compaction.strategy import CompactionStrategy, Summarise
from germane.history.compacting import compact
from germane.history.showing import show_earlier, tool_definition

__all__ = ["EarlierTool", "FrameworkCompaction", "earlier_tool", "is_unchanged"]

_LOG = logging.getLogger("germane.history")
_Sent = TypeVar("_Sent")


class FrameworkCompaction:
    """Compacts what a framework is about to send. One object may serve many runs at once.

    `model` overrides the name that the framework knows; `max_tokens` is the budget of a request, the model's window less the
    room for its answer where it is None. Raises `InvalidInput` for options that can't be used, at once and not in a run."""

    def __init__(
        self,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        strategy: CompactionStrategy | None = None,
        archive: Archive | None = None,
    ) -> None:
        self.model, self.max_tokens, self.archive = model, max_tokens, archive
        self.strategy = strategy if strategy is not None else Summarise()
        self._warned = False

    def compact(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        model: str,
        provider: str = "openai",
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Compaction:
        return compact(
            messages,
            model=self.model or model,
            max_tokens=self.max_tokens,
            provider=provider,
            system=system or None,
            tools=tools,
            strategy=self.strategy,
            archive=self.archive,
        )

    def safely(self, compacted: Callable[[], _Sent], unchanged: _Sent) -> _Sent:
        """Returns what `compacted` returns; `unchanged` where it raises, which is logged as a warning the first time."""
        try:
            return compacted()
        except Exception as error:
            level = logging.DEBUG if self._warned else logging.WARNING
            self._warned = True
            _LOG.log(level, "germane couldn't compact a conversation, which was sent as it was (said once): %r", error)
            return unchanged


class EarlierTool(NamedTuple):
    """The tool `show_earlier` for one archive, as frameworks take tools. `show(handle, start=0)` never raises."""

    name: str
    description: str
    parameters: dict[str, Any]
    show: Callable[..., str]


def earlier_tool(archive: Archive) -> EarlierTool:
    """Returns the tool that brings back what the archive keeps."""
    function = tool_definition()["function"]
    show = partial(show_earlier, archive=archive)
    return EarlierTool(function["name"], function["description"], dict(function["parameters"]), show)


def is_unchanged(compaction: Compaction, given: Sequence[Mapping[str, Any]]) -> bool:
    """Returns whether the messages are those given, all and in order."""
    return len(compaction.messages) == len(given) and all(
        index == origin and message is given[index]
        for index, (message, origin) in enumerate(zip(compaction.messages, compaction.origins, strict=True))
    )
