"""Conversation: a conversation that grows; it makes the plan of a compaction to fit a model at any moment.

Each message is parsed and counted once. Adding a message costs the same however long the conversation is. A plan costs the
same too, except when the boundaries move, which is rare.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.compaction.boundaries import Boundaries, BoundaryState, Room
from germane.compaction.entries import EntryMaker, LazyEntries
from germane.compaction.eviction import eviction_order
from germane.compaction.message_cost import Maskings, MessageCost
from germane.compaction.notebook import Notebook, Summaries, Told
from germane.compaction.placeholders import HeldSummary, held_summary, summary_block
from germane.compaction.plan import CompactionPlan, CompactionTerms, MaskedOutput
from germane.compaction.render import render
from germane.compaction.strategy import Truncate
from germane.dialects.edits import authored
from germane.types.message import Message, Raw
from germane.types.nested_data import bounded

_BLOCK_DIVISOR = 4
"""A summary takes at most this part of the tokens for messages: a quarter."""
_LOW_MESSAGES_SHARE = 2 / 3
"""Where the number of messages is the bound, so much lower is the low-water mark: a turn is 4 % of 100 messages, and with what
`boundaries.py` reckons, moves then add 61 % to the cost of reading at a half, 34 % at a third."""
_MIN_SUMMARY = 24
"""Tokens of text below which a summary says nothing."""
_MAX_ATTEMPTS = 6
_ANY_NUMBER = 1_000_000_000


def plan_compaction(
    raws: Sequence[Raw], messages: Sequence[Message], terms: CompactionTerms, summaries: Summaries = ()
) -> CompactionPlan:
    """Returns the plan for a whole conversation. `messages` are `raws` parsed."""
    fold = GrowingConversation(terms)
    for raw, message in zip(raws, messages, strict=True):
        fold.add(raw, message)
    return fold.plan(summaries)


class GrowingConversation:
    """Mutable. Takes a conversation message by message."""

    def __init__(self, terms: CompactionTerms) -> None:
        self.terms = terms
        self._fixed = terms.measure.fixed(terms.system, terms.tools)
        self._raws: list[Raw] = []
        self._messages: list[Message] = []
        self._said: list[Message] = []
        """The messages without germane's own text: what is read, and told to a language model."""
        self._costs: list[MessageCost] = []
        self._maskings = Maskings(terms.measure, self._raws, self._messages, self._costs)
        self._lead: list[tuple[Raw, Message]] = []
        """System messages at the start, until something else comes."""
        self._held: HeldSummary | None = None
        self._held_at: int | None = None
        """The place of the message with that summary among those added, and whether it holds more than the summary."""
        self._held_in_part = False
        self._held_raw: Raw | None = None
        """The message with the summary that the conversation begins with, where it holds nothing else."""
        self._boundaries: Boundaries | None = None
        constraints_only = isinstance(terms.strategy, Truncate)
        self._notebook = Notebook(self._said, terms.measure.count, constraints_only=constraints_only)
        self._entries = EntryMaker(self._raws, self._messages, terms.measure.provider)

    def add(self, raw: Raw, message: Message) -> None:
        """Adds a message."""
        if self._boundaries is None:
            if message.role == "system":
                self._lead.append((raw, message))
                return
            held = held_summary(message)
            lead = len(self._lead)
            self._begin(held)
            if held is not None:
                self._held_at, self._held_in_part = lead, len(message.parts) > 1
                if not self._held_in_part:
                    self._held_raw = raw
                    return
                raw = message = replace(message, parts=message.parts[1:])
        self._put(raw, message)

    def renew(self, raws: Sequence[Raw]) -> None:
        """Takes `raws` in place of the first ones that were added: the same messages in newer objects, which may differ in what
        isn't read, such as cache marks."""
        if self._boundaries is None:
            self._lead = [*zip(raws, (message for _, message in self._lead), strict=False), *self._lead[len(raws) :]]
            return
        given = list(raws)
        if (held := self._held_at) is not None and held < len(given):
            if not self._held_in_part:
                self._held_raw = given[held]
            given[held : held + 1] = self._raws[held : held + 1] if self._held_in_part else []
        self._raws[: len(given)] = given

    def plan(self, summaries: Summaries = ()) -> CompactionPlan:
        """Returns the plan for what was added so far. It fits with every handle named, if anything does. What
        `summaries` has for what has left stands in the place of the outline. The plan's `span` is what the boundaries have
        left behind, not what this call alone has pressed out."""
        boundaries = self._boundaries
        if boundaries is None:
            fold = GrowingConversation(self.terms)
            fold._lead = list(self._lead)
            fold._begin(None)
            return fold.plan(summaries)
        plan = self._drafted(boundaries, summaries)
        span = plan.span
        for _ in range(_MAX_ATTEMPTS):
            if plan.draft is None or plan.draft.tokens <= self.terms.max_tokens:
                break
            boundaries = boundaries.pressed(plan.draft.tokens - self.terms.max_tokens)
            after = self._drafted(boundaries, summaries)
            if after.state == plan.state:
                break
            plan = after
        if span is not None and not isinstance(summaries, Sequence):
            summaries.want(span)
        return plan if plan.span is span else replace(plan, span=span)

    def _begin(self, held: HeldSummary | None) -> None:
        self._held = held
        constrain = self._notebook.constraints
        if held is not None:
            self._entries.begun = held.handle
            self._notebook.hold(held.text)
        room = self._room(held)
        self._boundaries = Boundaries(
            room, eviction_order(self.terms.strategy, self._notebook.of), constrain, self._maskings.saving
        )
        self._boundaries.pin(self._notebook.held_constraints())
        lead, self._lead = self._lead, []
        for raw, message in lead:
            self._put(raw, message)

    def _room(self, held: HeldSummary | None) -> Room:
        terms, measure = self.terms, self.terms.measure
        strategy = terms.strategy
        lead = sum(measure.message(message, raw).cost for raw, message in self._lead)
        high = terms.max_tokens - self._fixed
        around = measure.text_tokens(summary_block("", 9_999_999, 9_999, "h0a1b2c3d4e5f" if terms.cite else "")) + 8
        wanted = 0 if isinstance(strategy, Truncate) else strategy.summary_tokens + around
        block = min(wanted, (high - lead) // _BLOCK_DIVISOR)
        messages = terms.max_messages or _ANY_NUMBER
        if isinstance(strategy, Truncate):
            messages = min(messages, max(1, strategy.keep_recent))
        return Room(
            high=high,
            low=lead + int(max(0, high - lead) * terms.low_water),
            block=block if block >= around + _MIN_SUMMARY else 0,
            around=around,
            least=around if terms.cite else 0,
            held=0 if held is None else measure.text_tokens(summary_block(*held)),
            messages=messages,
            messages_low=max(1, int(messages * terms.low_water * _LOW_MESSAGES_SHARE)),
            mask=strategy.mask,
            keep_outputs=strategy.keep_outputs,
        )

    def _put(self, raw: Raw, message: Message) -> None:
        if self._boundaries is None:
            return
        cost = self.terms.measure.message(message, raw)
        self._raws.append(raw)
        self._messages.append(message)
        self._said.append(authored(message, quotes=True) or replace(message, parts=()))
        self._costs.append(cost)
        self._boundaries.add(message, raw, cost.cost, cost.outputs, cost.thinking)

    def _drafted(self, boundaries: Boundaries, summaries: Summaries) -> CompactionPlan:
        """The plan with what it comes to when every handle may be named."""
        plan = self._plan(boundaries, summaries)
        return replace(plan, draft=render(plan, plan.entries.keys() if self.terms.cite else ()))

    def _plan(self, boundaries: Boundaries, summaries: Summaries) -> CompactionPlan:
        terms, state, held = self.terms, boundaries.now, self._held
        offset = int(held is not None)
        masks = self._masks(state)
        spans, lead = state.spans, boundaries.division.lead
        known = lead + (held.kept if held is not None else 0)

        def entries() -> list[Any]:
            made = self._entries.spans(spans, known)
            return [*made, *(self._entries.output(mask.index, mask.part) for mask in masks)]

        def handles() -> list[str]:
            return [entry.handle for entry in self._entries.spans(spans, known)]

        handle = self._entries.begun
        if terms.cite and (made := self._entries.spans(spans, known)):
            handle = made[-1].handle
        left = boundaries.gone
        told = Told()
        if left:
            room = boundaries.block - boundaries.room.around
            told = self._notebook.tell(state.left, room, state.covered + offset, summaries, handles)
        elif held is not None:
            told = self._notebook.told_before(held.text)
        return CompactionPlan(
            raws=self._raws,
            messages=self._messages,
            costs=self._costs,
            count=len(self._raws),
            lead=lead,
            offset=offset,
            state=state,
            terms=terms,
            tokens_before=self._fixed + boundaries.whole,
            masks=masks,
            held=None if left else self._held_raw,
            summary=told.summary,
            handle=handle,
            replaced=left + (held.messages if held is not None else 0),
            entries=LazyEntries(entries),
            constraints=told.constraints,
            artifacts=told.artifacts,
            reasons=told.reasons,
            complete=not told.lost,
            late=boundaries.late(apart=terms.measure.pairs_apart),
            span=told.span,
        )

    def _masks(self, state: BoundaryState) -> tuple[MaskedOutput, ...]:
        spans = (*state.kept, (state.covered, state.masked))
        found: list[MaskedOutput] = []
        for index in (index for span in spans for index in range(*span) if index < state.masked):
            if index in state.unmasked or not (maskable := self._maskings.of(index).maskable):
                continue
            results = self._messages[index].tool_results
            for part, facts in maskable:
                handle = self._entries.output(index, part).handle if self.terms.cite else ""
                tokens = self.terms.measure.count(results[part].text)
                found.append(MaskedOutput(index=index, part=part, tokens=tokens, handle=handle, facts=facts))
        return tuple(found)


# For a caller who gives the whole conversation at each call: only what is new in it is read and counted.


class FollowedConversation:
    """Mutable; for one thread at a time. The plan is that of a new fold over the same messages."""

    def __init__(self, terms: CompactionTerms) -> None:
        self.terms = terms
        self.characters = 0
        """Those of the messages that it holds."""
        self._fold = GrowingConversation(terms)
        self._messages: list[Message] = []

    def __len__(self) -> int:
        """The number of messages that it holds."""
        return len(self._messages)

    def plan(
        self,
        raws: Sequence[Raw],
        messages: Sequence[Message],
        summaries: Summaries = (),
        pause: Callable[[], bool] = lambda: False,
    ) -> CompactionPlan | None:
        """Returns the plan for the conversation as it is now; `messages` are `raws` parsed. What was there before isn't read
        again, up to the first message that was edited or taken away: the work starts again there. After a failure it starts
        again at the next call. Returns None where `pause`, which is asked before each further message, says that it is time to
        stop: the next call goes on there."""
        same = next(
            (index for index, (old, new) in enumerate(zip(self._messages, messages, strict=False)) if old != new),
            min(len(self._messages), len(messages)),
        )
        if same < len(self._messages):
            self._begin()
            same = 0
        try:
            self._fold.renew(raws[:same])
            for index in range(same, len(messages)):
                if index > same and pause():
                    return None
                raw, message = raws[index], messages[index]
                self._fold.add(raw, message)
                self.characters += bounded("messages", raw)[1] if isinstance(raw, Mapping) else len(message.content)
                self._messages.append(message)
            return self._fold.plan(summaries)
        except BaseException:
            self._begin()
            raise

    def _begin(self) -> None:
        self._fold, self._messages, self.characters = GrowingConversation(self.terms), [], 0
