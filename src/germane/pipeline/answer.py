"""Answer: the context that an assembly gives back, with its metadata, its trace and its warnings, however far it got."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from germane.catalog import unknown_model
from germane.pipeline.assembly_state import PROPAGATED, Assembly, counts_as_memory
from germane.pipeline.gather.depth import SHALLOW_ITEMS
from germane.pipeline.gather.profile import PROFILE
from germane.pipeline.inject.inject import inject, untouched
from germane.pipeline.thinking_prefix import changed_turns
from germane.types.amount import Cut
from germane.types.context import Context, Metadata
from germane.types.trace import Trace

__all__ = ["answer_of"]

_CHANGED = (
    "what germane put before the thinking in the answers to messages {} isn't what stood there when it was made, or can't be "
    "known: the provider refuses this request unless it may drop that thinking (context.to_anthropic(thinking=…))"
)


def answer_of(assembly: Assembly) -> Context:
    """Writes what was assembled into the request's messages. Where that fails, the assembly ends with the messages alone."""
    request, placement, written = assembly.request, assembly.strategy.placement, assembly.written
    stable, late = (written.text, "") if placement == "first" else (written.stable, written.late)
    try:
        earlier = {text.turn: text.text for text in assembly.standing.texts}
        injected = inject(request, stable, late, placement=placement, earlier=earlier)
    except PROPAGATED:
        raise
    except BaseException as error:
        assembly.give_up(f"assembly_error:{type(error).__name__}")
        injected = untouched(request)
    changed = _changed(assembly)
    warnings = (*_warnings(assembly), *((_CHANGED.format(", ".join(map(str, changed))),) if changed else ()))
    return Context(
        provider=request.provider,
        messages=injected.messages,
        system=injected.system,
        added=injected.added,
        items=assembly.written.items,
        metadata=_metadata(assembly, warnings, changed=bool(changed)),
        trace=_trace(assembly, warnings),
        convert=injected.convert,
        stable=stable if injected.added else "",
        convert_turns=injected.convert_turns,
        earlier=assembly.standing.texts,
    )


def _changed(assembly: Assembly) -> list[int]:
    """The turns with thinking that the provider will refuse, as other text of germane's stands before it than when it was
    made."""
    try:
        if not assembly.binds:
            return []
        standing = assembly.standing
        return changed_turns(assembly.request.messages, standing.turns, assembly.prefixes(), standing.recorded)
    except PROPAGATED:
        raise
    except BaseException:
        return [0]


def _metadata(assembly: Assembly, warnings: tuple[str, ...], *, changed: bool) -> Metadata:
    items = [item for item in assembly.written.items if counts_as_memory(item.scored.candidate)]
    packing, budget, need = assembly.packing, assembly.budget, assembly.need
    used = 0 if budget is None else budget.messages + budget.tools + assembly.tokens
    window = 1 if budget is None else max(1, budget.window)
    assessed = need if need is not None and need.threshold else None
    return Metadata(
        directive_injected=bool(assembly.written.text) and (assembly.level == 2 or bool(packing and packing.directive)),
        memories_injected=len(items),
        memories_available=0 if assembly.outcome is None else assembly.outcome.available,
        total_tokens_injected=assembly.tokens,
        context_window_used=100 * used // window,
        was_truncated=bool(packing and packing.was_truncated),
        fallback_reason=assembly.reason,
        memory_ids=tuple(item.id for item in items),
        degradation_level=assembly.level,
        sources=assembly.reports,
        timings=assembly.timings,
        cached=assembly.cached,
        warnings=warnings,
        need=None if assessed is None else assessed.probability,
        need_threshold=None if assessed is None else assessed.threshold,
        earlier_tokens=assembly.standing.tokens,
        profile_tokens=assembly.standing.profile_tokens
        + sum(item.tokens for item in assembly.written.items if item.source == PROFILE),
        history=assembly.history,
        thinking_prefix_changed=changed,
    )


def _trace(assembly: Assembly, warnings: tuple[str, ...]) -> Trace:
    packing, gathered = assembly.packing, assembly.gathered
    return Trace(
        strategy=assembly.strategy.name,
        model=assembly.request.model,
        tokenizer="" if assembly.measured is None else assembly.measured.tokenizer.name,
        query=None if gathered is None else replace(gathered.query, vector=None),
        budget=assembly.budget,
        chosen=assembly.written.items,
        left_out=() if packing is None else packing.left_out,
        unread=() if gathered is None else gathered.unread,
        gap=None if packing is None else packing.gap,
        sources=assembly.reports,
        timings=assembly.timings,
        warnings=warnings,
        need=assembly.need,
        cut=None if packing is None or packing.price is None else Cut.of(packing.price, packing.refused),
        earlier=assembly.standing.texts,
    )


def _warnings(assembly: Assembly) -> Iterator[str]:
    packing, budget, request = assembly.packing, assembly.budget, assembly.request
    profile = None if assembly.measured is None else assembly.measured.profile
    if profile is not None and not profile.known:
        yield unknown_model.warning(request.model, profile.window)
    if packing is not None and packing.directive_left_out:
        yield f"the directive was left out: {packing.directive_left_out}"
    if assembly.shallow:
        yield f"other calls were waiting: each search looked for its best {SHALLOW_ITEMS} results and no further"
    yield from assembly.standing.warnings
    if assembly.history is not None:
        yield from (f"the conversation: {reason}" for reason in assembly.history.reasons)
    yield from _absent_blocks(assembly)
    if isinstance(request.task, str) and any(one.name == "tasks" and one.reason == "no_task" for one in assembly.reports):
        yield f"there is no task {request.task!r} in this session, which the request names"
    if assembly.directive is None:
        yield "the directive couldn't be read, and none is known of this scope yet: the answer goes without"
    if budget is not None and budget.is_constrained and not budget.exceeds_window:
        yield f"only {budget.available} tokens are left to add anything"


def _absent_blocks(assembly: Assembly) -> Iterator[str]:
    """Names of blocks in the request that nothing was found for, where the blocks could be read."""
    named, packing = assembly.request.blocks, assembly.packing
    if not named or packing is None:
        return
    if not any(report.name == "blocks" and report.status == "ok" for report in assembly.reports):
        return
    offered = [*(item.scored for item in packing.chosen), *(out.scored for out in packing.left_out)]
    blocks = [block for scored in offered if (block := scored.candidate.block) is not None]
    known = {name for block in blocks for name in (block.id, block.label)}
    yield from (f"there is no block {name!r} here, which the request names" for name in named if name not in known)
