"""Render: writes the messages of a plan in the provider's shape, and measures what was written."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from germane.catalog.measure_budget import message_tokens
from germane.compaction.compaction import Compaction, CompactionTrace
from germane.compaction.message_cost import Raw
from germane.compaction.plan import CompactionPlan
from germane.compaction.wording import mask_line, summary_block
from germane.dialects.dialect import OutgoingMessage
from germane.dialects.masking import masked
from germane.dialects.openai_chat import OpenAIChat
from germane.dialects.orphans import orphans
from germane.dialects.registry import dialect, outgoing, parse
from germane.dialects.system_prompt import system_prompt
from germane.types.message import Message

__all__ = ["render"]


def render(plan: CompactionPlan, verified: Collection[str] = (), reasons: Sequence[str] = ()) -> Compaction:
    """Returns the compaction. Only handles of `verified` are named, the others' content is as good as dropped for the reader.
    `reasons` go into the trace with those of the plan."""
    if not plan.count and not plan.offset:
        return _empty(plan)
    indexes, sources, turns = _turns(plan, frozenset(verified))
    target = dialect(plan.provider)
    own = system_prompt(plan.system, plan.provider)
    apart = plan.provider != OpenAIChat.name
    first = [outgoing(parse(own, plan.provider), own, plan.provider)] if own is not None and apart else []
    wire = target.compose([*first, *turns], plan.tools)
    system = wire.system if apart and any(plan.messages[index].role == "system" for index in indexes if index >= 0) else None
    known = {
        id(turn.native): message_tokens(turn.message, plan.measure.profile, plan.measure.count)
        for turn, raw in zip(turns, sources, strict=True)
        if turn.native is not None and turn.native is raw
    }
    tokens = plan.measure.fixed(None if apart else plan.system, plan.tools) + plan.measure.wire(wire, known, target.parse)
    lost = tuple(indexes[place] for place in sorted(orphans(turns, plan.provider)))
    standing = plan.standing
    shift = plan.offset
    fits = tokens <= plan.max_tokens
    return Compaction(
        messages=list(wire.messages),
        provider=plan.provider,
        system=plan.system if system is None else system,
        tokens=tokens,
        tokens_before=plan.tokens_before,
        max_tokens=plan.max_tokens,
        fits=fits,
        summary=plan.summary,
        masked=len(plan.masks),
        summarised=plan.replaced if plan.summary is not None else 0,
        dropped=plan.dropped,
        quarantined=tuple(index + shift for index in lost if index >= 0),
        constraints=plan.constraints,
        artifacts=plan.artifacts,
        entries=plan.entries,
        cited=tuple(_cited(plan, frozenset(verified))),
        trace=CompactionTrace(
            moves=standing.moves,
            masked_before=standing.masked + shift,
            covered_before=standing.covered + shift,
            saved_tokens=standing.saved,
            cache_lost_tokens=standing.lost,
            reasons=(*plan.reasons, *reasons, *(() if fits else (_too_large(plan, tokens),))),
        ),
    )


def _empty(plan: CompactionPlan) -> Compaction:
    tokens = plan.measure.fixed(plan.system, plan.tools)
    return Compaction(
        messages=[],
        provider=plan.provider,
        system=plan.system,
        tokens=tokens,
        tokens_before=tokens,
        max_tokens=plan.max_tokens,
        fits=tokens <= plan.max_tokens,
    )


def _turns(plan: CompactionPlan, verified: frozenset[str]) -> tuple[list[int], list[Raw], list[OutgoingMessage]]:
    """Returns the messages to send, with the index of each, -1 for the summary, and what each was made of."""
    lines: dict[int, dict[int, str]] = {}
    for mask in plan.masks:
        lines.setdefault(mask.index, {})[mask.part] = mask_line(mask.tokens, mask.handle if mask.handle in verified else "")
    indexes: list[int] = []
    sources: list[Raw] = []
    turns: list[OutgoingMessage] = []

    def add(index: int, raw: Raw, message: Message) -> None:
        turn = outgoing(message, raw, plan.provider)
        late = index >= plan.lead and message.role == "system" and plan.measure.profile.mid_system
        indexes.append(index)
        sources.append(raw)
        turns.append(replace(turn, in_place=True) if late else turn)

    for index in range(plan.lead):
        add(index, plan.raws[index], plan.messages[index])
    if plan.summary is not None and plan.summary.text:
        handle = plan.handle if plan.handle in verified else ""
        kept = sum(end - start for start, end in plan.standing.kept)
        text = summary_block(plan.summary.text, plan.replaced, kept, handle)
        message = Message.of("user", text)
        raw: Mapping[str, Any] = dialect(plan.provider).render([message]).messages[0]
        indexes.append(-1)
        sources.append(raw)
        turns.append(OutgoingMessage(message=message, native=raw))
    for index in plan.shown():
        given = plan.raws[index]
        if index in lines:
            changed = masked(given, lines[index], plan.provider)
            add(index, changed, parse(changed, plan.provider))
        else:
            add(index, given, plan.messages[index])
    return indexes, sources, turns


def _cited(plan: CompactionPlan, verified: frozenset[str]) -> Iterator[str]:
    if plan.summary is not None and plan.summary.text and plan.handle in verified:
        yield plan.handle
    yield from dict.fromkeys(mask.handle for mask in plan.masks if mask.handle in verified)


def _too_large(plan: CompactionPlan, tokens: int) -> str:
    fixed = plan.measure.fixed(plan.system, plan.tools)
    lead = sum(each.cost for each in plan.measured[: plan.lead])
    return (
        f"what may not be lost takes {tokens} tokens, {plan.max_tokens} are allowed: {fixed} for the request with tools and "
        f"system prompt, {lead} for system messages at the start, the rest for the running exchange and what must be kept"
    )
