"""Fold: a conversation that grows, with what has to leave it to fit a model; makes the plan of a compaction at any moment.

Each message is parsed and counted once. Adding one costs the same however long the conversation is, and so does a plan, but for
the moves of the boundaries, of which there are few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.compaction.archive import ArchiveEntry, handle_of
from germane.compaction.boundaries import Boundaries, Room, Span
from germane.compaction.leaving import leaving
from germane.compaction.message_cost import Measure, MessageCost, Raw
from germane.compaction.message_json import as_json
from germane.compaction.notebook import Notebook
from germane.compaction.notes import ExchangeNotes
from germane.compaction.plain_notes import extractive_summary, notes_of_summary
from germane.compaction.plan import CompactionPlan, MaskedOutput
from germane.compaction.render import render
from germane.compaction.strategy import CompactionStrategy, Truncate
from germane.compaction.summary import SpanSummary
from germane.compaction.wording import HeldSummary, read_summary, summary_block
from germane.types.message import Message, Text

__all__ = ["CompactionFold", "plan_compaction"]

_BLOCK_SHARE = 4
"""A summary takes at most this part of the tokens for messages: a quarter."""
_LEAST_SUMMARY = 24
"""Tokens of text below which a summary says nothing."""
_ATTEMPTS = 6


def plan_compaction(
    raws: Sequence[Raw],
    messages: Sequence[Message],
    *,
    measure: Measure,
    max_tokens: int,
    strategy: CompactionStrategy,
    low_water: float = 0.5,
    max_messages: int | None = None,
    system: Any = None,
    tools: Sequence[Mapping[str, Any]] = (),
    summaries: Sequence[SpanSummary] = (),
) -> CompactionPlan:
    """Returns the plan for a whole conversation. `messages` are `raws` parsed; `max_tokens` are those of the whole request."""
    fold = CompactionFold(
        measure, max_tokens, strategy, low_water=low_water, max_messages=max_messages, system=system, tools=tools
    )
    for raw, message in zip(raws, messages, strict=True):
        fold.add(raw, message)
    return fold.plan(summaries)


class CompactionFold:
    """Mutable."""

    def __init__(
        self,
        measure: Measure,
        max_tokens: int,
        strategy: CompactionStrategy,
        *,
        low_water: float = 0.5,
        max_messages: int | None = None,
        system: Any = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._measure, self._max_tokens, self._strategy = measure, max_tokens, strategy
        self._system, self._tools = system, tools
        self._fixed = measure.fixed(system, tools)
        self._raws: list[Raw] = []
        self._messages: list[Message] = []
        self._measured: list[MessageCost] = []
        self._notebook = Notebook(self._messages, measure.count)
        self._low_water, self._max_messages = low_water, max_messages
        self._held: HeldSummary | None = None
        self._boundaries: Boundaries | None = None
        self._lead: list[tuple[Raw, Message]] = []
        self._spans: list[ArchiveEntry] = []
        self._summed: tuple[int, SpanSummary | None] | None = None

    @property
    def count(self) -> int:
        """The messages added so far, a summary at the beginning counted."""
        return len(self._raws) + (self._held is not None)

    def add(self, raw: Raw, message: Message) -> None:
        """Adds a message."""
        if self._boundaries is None:
            if message.role == "system":
                self._lead.append((raw, message))
                return
            held = _held(message)
            self._begin(held)
            if held is not None:
                rest = message.parts[1:]
                if not rest:
                    return
                raw = message = replace(message, parts=rest)
        self._put(raw, message)

    def _begin(self, held: HeldSummary | None) -> None:
        measure, strategy = self._measure, self._strategy
        self._held = held
        lead = [measure.message(message, raw) for raw, message in self._lead]
        fixed = sum(each.cost for each in lead)
        high = self._max_tokens - self._fixed
        around = measure.text_tokens(summary_block("", 9_999_999, 9_999, "h0a1b2c3d4e5f")) + 8
        block = 0
        if not isinstance(strategy, Truncate):
            block = min(strategy.summary_tokens + around, (high - fixed) // _BLOCK_SHARE)
        messages = self._max_messages or 1_000_000_000
        if isinstance(strategy, Truncate):
            messages = min(messages, max(1, strategy.keep_recent))
        said = 0 if held is None else measure.text_tokens(summary_block(held.text, held.messages, held.kept, held.handle))
        room = Room(
            high=high,
            low=fixed + int(max(0, high - fixed) * self._low_water),
            block=block if block >= around + _LEAST_SUMMARY else 0,
            around=around,
            held=said,
            messages=messages,
            messages_low=max(1, int(messages * self._low_water)),
            mask=strategy.mask,
            keep_outputs=strategy.keep_outputs,
        )
        order = leaving(strategy, self._notebook.of)
        constrain = _nothing if isinstance(strategy, Truncate) else self._notebook.constraints
        self._boundaries = Boundaries(room, order, constrain)
        lead_messages, self._lead = self._lead, []
        for raw, message in lead_messages:
            self._put(raw, message)

    def _put(self, raw: Raw, message: Message) -> None:
        assert self._boundaries is not None
        measured = self._measure.message(message, raw)
        self._raws.append(raw)
        self._messages.append(message)
        self._measured.append(measured)
        self._boundaries.add(message, measured.cost, measured.outputs, measured.saving)

    def plan(self, summaries: Sequence[SpanSummary] = ()) -> CompactionPlan:
        """Returns the plan for what was added so far. It fits with every handle named, if anything does."""
        boundaries = self._boundaries
        if boundaries is None:
            return self._only_lead().plan(summaries)
        plan = self._plan(boundaries, summaries)
        for _ in range(_ATTEMPTS):
            compaction = render(plan, plan.entries.keys())
            if compaction.fits:
                break
            boundaries = boundaries.pressed(compaction.tokens - plan.max_tokens)
            after = self._plan(boundaries, summaries)
            if after.standing == plan.standing:
                break
            plan = after
        return plan

    def _only_lead(self) -> CompactionFold:
        """A fold of the system messages so far: this one waits for what comes first behind them."""
        fold = CompactionFold(
            self._measure,
            self._max_tokens,
            self._strategy,
            low_water=self._low_water,
            max_messages=self._max_messages,
            system=self._system,
            tools=self._tools,
        )
        fold._lead = list(self._lead)
        fold._begin(None)
        return fold

    def _plan(self, boundaries: Boundaries, summaries: Sequence[SpanSummary]) -> CompactionPlan:
        standing, held = boundaries.now, self._held
        lead, offset = boundaries.division.lead, int(held is not None)
        entries: dict[str, ArchiveEntry] = {}
        previous = held.handle if held is not None else ""
        for place, span in enumerate(standing.spans):
            if place == len(self._spans):
                self._spans.append(self._span_entry(span, previous))
            entry = self._spans[place]
            if entry.messages:
                previous = entry.handle
                entries[entry.handle] = entry
        shown = [*(index for span in standing.kept for index in range(*span)), *range(standing.covered, len(self._raws))]
        masks = tuple(mask for index in shown if index < standing.masked for mask in self._masks(index))
        for mask in masks:
            entries[mask.handle] = self._output_entry(mask)
        left = sum(end - start for start, end in standing.left)
        summary = self._summary(boundaries, summaries)
        replaced = left + (held.messages if held is not None else 0)
        notes = [self._notebook.of(span) for span in standing.left] if summary is not None and left else []
        return CompactionPlan(
            raws=self._raws,
            messages=self._messages,
            measured=self._measured,
            count=len(self._raws),
            lead=lead,
            offset=offset,
            standing=standing,
            measure=self._measure,
            max_tokens=self._max_tokens,
            tokens_before=self._fixed + boundaries.whole,
            system=self._system,
            tools=self._tools,
            masks=masks,
            summary=summary,
            handle=previous,
            replaced=replaced,
            dropped=left if summary is None else 0,
            entries=entries,
            constraints=tuple(dict.fromkeys(each for note in notes for each in note.constraints)),
            artifacts=tuple(dict.fromkeys(each for note in notes for each in note.artifacts)),
        )

    def _masks(self, index: int) -> Iterator[MaskedOutput]:
        results = self._messages[index].tool_results
        for part in self._measured[index].maskable:
            handle = handle_of("output", [as_json(self._raws[index])], part=part)
            yield MaskedOutput(index=index, part=part, tokens=self._measure.count(results[part].text), handle=handle)

    def _output_entry(self, mask: MaskedOutput) -> ArchiveEntry:
        return ArchiveEntry(
            handle=mask.handle,
            kind="output",
            provider=self._measure.provider,
            title=self._messages[mask.index].tool_results[mask.part].name,
            messages=(as_json(self._raws[mask.index]),),
            part=mask.part,
        )

    def _span_entry(self, span: Span, previous: str) -> ArchiveEntry:
        """What a move put behind the boundary, without what a summary at the beginning stands for already."""
        lead = self._boundaries.division.lead if self._boundaries is not None else 0
        known = lead + (self._held.kept if self._held is not None else 0)
        messages = tuple(as_json(self._raws[index]) for index in range(max(span[0], known), span[1]))
        return ArchiveEntry(
            handle=handle_of("span", messages, previous),
            kind="span",
            provider=self._measure.provider,
            title=f"messages {span[0]} to {span[1] - 1}",
            messages=messages,
            previous=previous,
        )

    def _summary(self, boundaries: Boundaries, summaries: Sequence[SpanSummary]) -> SpanSummary | None:
        standing, held = boundaries.now, self._held
        if not standing.left:
            return None if held is None else _told(held, self._measure)
        room = boundaries.block - boundaries.room.around
        if room < 1 or isinstance(self._strategy, Truncate):
            return None
        notes: list[ExchangeNotes] = list(notes_of_summary(held.text)) if held is not None else []
        notes += [self._notebook.of(span) for span in sorted(standing.left)]
        text = extractive_summary(notes, room, self._measure.count)
        covers = standing.covered + (held is not None)
        ids = tuple(id for span in standing.left for index in range(*span) if (id := self._messages[index].id))
        return SpanSummary(text=text, covers=covers, tokens=self._measure.count(text), ids=ids) if text else None


def _told(held: HeldSummary, measure: Measure) -> SpanSummary:
    return SpanSummary(text=held.text, covers=1, tokens=measure.count(held.text))


def _nothing(span: Span) -> Iterator[tuple[str, int]]:
    return iter(())


def _held(message: Message) -> HeldSummary | None:
    """Returns what germane's own summary says, with which a conversation goes on that was compacted before."""
    if message.role != "user" or not message.parts or not isinstance(first := message.parts[0], Text):
        return None
    return read_summary(first.text)
