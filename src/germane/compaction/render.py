"""Render: writes the messages of a plan in the provider's shape, and measures what was written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from germane.catalog.profiles import Price
from germane.catalog.request_tokens import message_tokens
from germane.compaction.placeholders import mask_line, summary_block
from germane.compaction.plan import Compaction, CompactionPlan, CompactionTrace
from germane.dialects.dialect import Dialect, OutgoingMessage
from germane.dialects.edits import masked, orphans
from germane.dialects.opaque import unbound
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.pairing import close_orphans
from germane.dialects.registry import dialect, outgoing, parse, system_prompt
from germane.dialects.responses_pairing import continues
from germane.types.message import Message, Raw, Wire

_SUMMARY_INDEX = -1


def render(plan: CompactionPlan, verified: Collection[str] = (), reasons: Sequence[str] = ()) -> Compaction:
    """Returns the compaction. Only handles of `verified` are named: those of entries that were read back from an archive.
    `reasons` go into the trace with those of the plan."""
    if plan.draft is not None and all(handle in verified for handle in plan.draft.cited):
        draft = plan.draft
        return replace(draft, trace=replace(draft.trace, reasons=(*draft.trace.reasons, *reasons))) if reasons else draft
    terms, measure = plan.terms, plan.terms.measure
    if not plan.count and plan.summary is None:
        return _empty(plan)
    turns = _Turns(plan, frozenset(verified))
    target = dialect(plan.provider)
    own = system_prompt(terms.system, plan.provider)
    apart = plan.provider != OpenAIChat.name
    first = [outgoing(parse(own, plan.provider), own, plan.provider)] if own is not None and apart else []
    wire = target.compose([*first, *turns.turns], terms.tools)
    if turns.summary is not None and plan.state.kept:
        wire = turns.with_kept(wire, target)
    system = terms.system
    if apart and any(turn.message.role == "system" for turn in turns.turns):
        system = wire.system
    known = {
        id(turn.native): message_tokens(turn.message, measure.profile, measure.count)
        for turn, raw in zip(turns.turns, turns.sources, strict=True)
        if turn.native is not None and turn.native is raw
    }
    tokens = measure.fixed(None if apart else terms.system, terms.tools) + measure.wire(wire, known, target.parse)
    lost = sorted(turns.indexes[place] for place in orphans(turns.turns, plan.provider))
    small = tokens <= terms.max_tokens
    told = plan.summary is not None or plan.replaced == 0
    return Compaction(
        messages=list(wire.messages),
        origins=origins(wire.messages, turns.turns, [index + plan.offset * (index >= plan.lead) for index in turns.indexes]),
        provider=plan.provider,
        system=system,
        tokens=tokens,
        tokens_before=plan.tokens_before,
        max_tokens=terms.max_tokens,
        fits=small and plan.complete,
        summary=plan.summary,
        masked=len(plan.masks),
        summarised=plan.replaced if told else 0,
        dropped=0 if told else plan.replaced,
        quarantined=tuple(index + plan.offset * (index >= plan.lead) for index in lost if index != _SUMMARY_INDEX),
        constraints=plan.constraints,
        artifacts=plan.artifacts,
        entries=plan.entries,
        cited=tuple(turns.cited()),
        trace=_trace(plan, (*plan.reasons, *reasons, *(() if small else (_too_large(plan, tokens),)))),
    )


@dataclass(slots=True)
class _Turns:
    """The messages to send: `indexes` and `sources` say of each which one of the plan it is, and what it was made of."""

    plan: CompactionPlan
    verified: frozenset[str]
    indexes: list[int] = field(default_factory=list)
    sources: list[Raw] = field(default_factory=list)
    turns: list[OutgoingMessage] = field(default_factory=list)
    summary: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        plan = self.plan
        lines: dict[int, dict[int, str]] = {}
        for mask in plan.masks:
            handle = mask.handle if mask.handle in self.verified else ""
            lines.setdefault(mask.index, {})[mask.part] = mask_line(mask.tokens, handle, mask.facts)
        for index in range(plan.lead):
            self._add(index, plan.raws[index], plan.messages[index])
        if plan.replaced and (plan.summary is not None or plan.held is not None or self._handle):
            self._summarise()
        measure = plan.terms.measure
        shown = list(plan.shown())
        unanswered = self._unanswered(shown) if plan.state.kept else frozenset[int]()
        before = plan.lead - 1
        for index in shown:
            given, gone, before = plan.raws[index], range(before + 1, index), index
            changed = unbound(given) if measure.binds_thinking and index < plan.state.at else given
            if changed is None:
                continue
            if index in lines:
                changed = masked(changed, lines[index], plan.provider)
            self._add(index, changed, plan.messages[index] if changed is given else parse(changed, plan.provider))
            if index in unanswered:
                self.turns[-1] = close_orphans(self.turns[-1])
            if measure.pairs_apart and any(plan.messages[each].tool_results for each in gone):
                self.turns[-1] = replace(self.turns[-1], behind_results=True)
        if measure.pairs_apart and self._seems_continued():
            self.turns[:] = [close_orphans(turn) if turn.message.tool_results else turn for turn in self.turns]

    def _seems_continued(self) -> bool:
        """Returns whether what is left looks as if it continued a conversation that the server has stored, as all that the
        model said has left: the API's rules for results that stand alone don't hold then."""
        count = self.plan.count
        return _continues(self.sources, [turn.message for turn in self.turns]) and not _continues(
            self.plan.raws[:count], self.plan.messages[:count]
        )

    @property
    def _handle(self) -> str:
        return self.plan.handle if self.plan.handle in self.verified else ""

    def _unanswered(self, shown: Sequence[int]) -> frozenset[int]:
        """Returns the messages with calls that wait for their results, behind which others have left: such calls are text, lest
        they take the results of the calls that stand next to them now."""
        messages, found, waits = self.plan.messages, set[int](), False
        for index, following in reversed(list(pairwise(shown))):
            message = messages[index]
            waits = following != index + 1 or (waits and not messages[following].tool_results)
            if waits and message.role == "assistant" and message.tool_calls and index not in self.plan.late:
                found.add(index)
        return frozenset(found)

    def cited(self) -> Iterator[str]:
        """Yields the handles that are named, each once."""
        if self.summary is not None and self._handle:
            yield self._handle
        yield from dict.fromkeys(mask.handle for mask in self.plan.masks if mask.handle in self.verified)

    def with_kept(self, wire: Wire, target: Dialect) -> Wire:
        """The request with a summary that says how many of the messages right behind it are older than the boundary, as they
        are written: dialects join and split messages."""
        place = next((place for place, raw in enumerate(wire.messages) if raw is self.summary), None)
        if place is None:
            return wire
        kept = sum(end - start for start, end in self.plan.state.kept)
        end = sum(index < self.plan.state.covered for index in self.indexes)
        after = self.turns[end].native if end < len(self.turns) else None
        following = next((at for at, raw in enumerate(wire.messages) if after is not None and raw is after), None)
        if following is None:
            following = len(target.compose(self.turns[:end], self.plan.terms.tools).messages)
        if following - place - 1 == kept:
            return wire
        written = _block(self.plan, following - place - 1, self._handle, target)
        return replace(wire, messages=[written if raw is self.summary else raw for raw in wire.messages])

    def _summarise(self) -> None:
        if self.plan.held is not None:
            self._add(_SUMMARY_INDEX, self.plan.held, parse(self.plan.held, self.plan.provider))
            return
        kept = sum(end - start for start, end in self.plan.state.kept)
        raw = _block(self.plan, kept, self._handle, dialect(self.plan.provider))
        self.summary = raw
        self.indexes.append(_SUMMARY_INDEX)
        self.sources.append(raw)
        self.turns.append(OutgoingMessage(message=parse(raw, self.plan.provider), native=raw))

    def _add(self, index: int, raw: Raw, message: Message) -> None:
        turn = outgoing(message, raw, self.plan.provider)
        middle = index >= self.plan.lead and message.role == "system" and self.plan.terms.measure.profile.mid_system
        self.indexes.append(index)
        self.sources.append(raw)
        self.turns.append(replace(turn, in_place=True) if middle else turn)


def _block(plan: CompactionPlan, kept: int, handle: str, target: Dialect) -> dict[str, Any]:
    """The summary as a user's message in the provider's shape."""
    said = "" if plan.summary is None else plan.summary.text
    return target.render([Message.of("user", summary_block(said, plan.replaced, kept, handle))]).messages[0]


def _empty(plan: CompactionPlan) -> Compaction:
    tokens = plan.terms.measure.fixed(plan.terms.system, plan.terms.tools)
    return Compaction(
        messages=[],
        provider=plan.provider,
        system=plan.terms.system,
        tokens=tokens,
        tokens_before=tokens,
        max_tokens=plan.terms.max_tokens,
        fits=tokens <= plan.terms.max_tokens,
    )


def _trace(plan: CompactionPlan, reasons: tuple[str, ...]) -> CompactionTrace:
    state = plan.state
    return CompactionTrace(
        moves=state.moves,
        masked_before=state.masked + plan.offset,
        covered_before=state.covered + plan.offset,
        saved_tokens=state.saved,
        cache_lost_tokens=state.lost,
        pays_after=_pays_after(state.saved, state.lost, plan.terms.price),
        reasons=reasons,
    )


def _pays_after(saved: int, lost: int, price: Price | None) -> float | None:
    """The number of calls after which a move has paid for itself: once, the tokens behind the place where it broke the prefix
    cost what reading or writing them anew does, in place of what reading them from the cache would; each call then saves what
    reading the others from the cache would cost."""
    if price is None or not saved:
        return None
    cached = price.input if price.cached is None else price.cached
    write = price.input if price.write is None else price.write
    return lost * max(0.0, write - cached) / (saved * cached) if cached else None


def _too_large(plan: CompactionPlan, tokens: int) -> str:
    measure = plan.terms.measure
    fixed = measure.fixed(plan.terms.system, plan.terms.tools)
    lead = sum(each.cost for each in plan.costs[: plan.lead])
    return (
        f"what may not be lost takes {tokens} tokens of {plan.terms.max_tokens}: {fixed} for the request with tools and system "
        f"prompt, {lead} for system messages at the start, the rest for the running exchange and what must be kept"
    )


def _continues(raws: Sequence[Raw], messages: Sequence[Message]) -> bool:
    """Returns whether a Responses conversation continues one that the server has stored."""
    given = zip(raws, messages, strict=True)
    return continues([str((isinstance(raw, Mapping) and raw.get("type")) or message.role) for raw, message in given])


# For callers who keep objects of their own beside the dicts.


def origins(
    written: Sequence[Mapping[str, Any]], turns: Sequence[OutgoingMessage], indexes: Sequence[int]
) -> tuple[int | None, ...]:
    """Returns the index of each message of `written`: `indexes` has that of each turn, below 0 for germane's own. A turn's dict
    that was written unchanged is found as the same object. The others keep their order, so that what is left of the messages
    belongs to what is left of the turns; where their numbers differ, several were written as one, and the answer is None."""
    places: dict[int, list[int]] = {}
    for place, turn in enumerate(turns):
        if turn.native is not None:
            places.setdefault(id(turn.native), []).append(place)
    found: list[int | None] = []
    for message in written:
        same = places.get(id(message))
        found.append(same.pop(0) if same else None)
    known = set(found)
    left = [place for place in range(len(turns)) if place not in known]
    empty = [number for number, place in enumerate(found) if place is None]
    system = [place for place in left if turns[place].message.role == "system"]
    if len(empty) == len(left) - len(system):
        left = [place for place in left if place not in system]
    if len(empty) == len(left):
        for number, place in zip(empty, left, strict=True):
            found[number] = place
    return tuple(None if place is None or indexes[place] < 0 else indexes[place] for place in found)
