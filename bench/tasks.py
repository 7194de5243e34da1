"""Tasks: what the task stack and typed events bring: a coding session replayed, plain and structured.

    python -m bench tasks [--delegation] [--missing] [--seed 15]

A session of 400 events (`bench/coding_session.py`) is replayed into two stores. The plain one gets everything as messages, with
the same words, as a pipeline without events and tasks would have it: also that a task begins, and how it ended. The structured
one gets typed events with outcome and task, and the moves of the stack. At each labelled step the context for the same request
is assembled within 500, 1,000 and 2,000 tokens, and the share of what the step needs that is in it is counted: by the words
that say it, wherever they come from. `--missing` lists what isn't there at 1,000 tokens. `--delegation` compares `isolated`,
`brief` and `fork` at the points where a task could be given away.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from bench.coding_session import coding_session
from bench.delegating import delegation_report
from bench.machine import describe
from bench.session_entries import KINDS, Entry, LabelledStep, Need
from bench.session_replay import Mode, SessionReplay, holds
from germane import Strategy
from germane.api.strategies import COMPACT, DEFAULT, archetype_strategy
from germane.extraction.archetypes.registry import CODING
from germane.stages.pack.shares import TASK_SHARES
from germane.types.context import Context

__all__ = ["BUDGETS", "MODES", "Tally", "main", "replayed"]

BUDGETS = (500, 1000, 2000)
_FULL = replace(DEFAULT, name="full", need=0.0, effort=None, placement="first")
"""The default ranking, which uses the tokens that it is given, in one text."""
MODES: tuple[tuple[str, Mode, Strategy], ...] = (
    ("plain, default", "plain", _FULL),
    ("plain, compact", "plain", COMPACT),
    ("structured, default", "structured", _FULL),
    ("structured, compact", "structured", COMPACT),
    ("structured, coding", "structured", replace(archetype_strategy(CODING), placement="first")),
)
"""Name, how the session is stored, and the strategy of the assemblies."""


class Tally:
    """Needs that were met, and all, by kind and depth, for one way and budget."""

    def __init__(self) -> None:
        self.met, self.all = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        self.tokens, self.steps, self.over = 0, 0, list[str]()
        self.missing = list[tuple[LabelledStep, Need]]()

    def note(self, step: LabelledStep, context: Context, budget: int) -> None:
        self.steps += 1
        self.tokens += context.metadata.total_tokens_injected
        if context.metadata.total_tokens_injected > budget:
            self.over.append(f"{step.id}: {context.metadata.total_tokens_injected} of {budget} tokens")
        self.over += [f"{step.id}: {role}" for role in over_share(context, budget)]
        for need in step.needs:
            self.all[need.kind, step.depth] += 1
            if holds(context.added, need):
                self.met[need.kind, step.depth] += 1
            else:
                self.missing.append((step, need))

    def share(self, *kinds: str, depth: int | None = None) -> float | None:
        """The share of needs of these kinds that were met, at one depth or all; None where there are none."""
        keys = [key for key in self.all if (not kinds or key[0] in kinds) and depth in (None, key[1])]
        total = sum(self.all[key] for key in keys)
        return sum(self.met[key] for key in keys) / total if total else None


def over_share(context: Context, budget: int) -> list[str]:
    """The roles of the stack that took more tokens than their share; the root goal may take 24 at the cost of those above."""
    used = Counter[str]()
    for item in context.items:
        if item.category == "task":
            used[item.scored.candidate.kinds[1]] += item.tokens
    lent = max(0, 24 - budget * TASK_SHARES["task_root"] // 100)
    most = {role: budget * percent // 100 for role, percent in TASK_SHARES.items()}
    return [role for role, tokens in used.items() if tokens > most[role] + (lent if role == "task_root" else 0)]


async def replayed(
    entries: Sequence[Entry], modes: Sequence[tuple[str, Mode, Strategy]] = MODES, budgets: Sequence[int] = BUDGETS
) -> Mapping[tuple[str, int], Tally]:
    """Replays the entries once for each way to store them, and returns a tally for each name of `modes` and budget."""
    tallies = {(name, budget): Tally() for name, _, _ in modes for budget in budgets}
    for stored in ("plain", "structured"):
        ways = [(name, strategy) for name, how, strategy in modes if how == stored]
        if not ways:
            continue
        async with SessionReplay(stored) as replay:
            for entry in entries:
                if not isinstance(entry, LabelledStep):
                    await replay.play(entry)
                    continue
                for name, strategy in ways:
                    for budget in budgets:
                        context = await replay.assemble(entry.prompt, strategy, budget)
                        tallies[name, budget].note(entry, context, budget)
    return tallies


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench tasks")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--delegation", action="store_true")
    options = parser.parse_args(arguments)
    entries = coding_session(options.seed)
    print(describe())
    if options.delegation:
        print(asyncio.run(delegation_report(entries)))
        return
    tallies = asyncio.run(replayed(entries))
    steps = [one for one in entries if isinstance(one, LabelledStep)]
    print(f"{len(steps)} labelled steps, {sum(len(one.needs) for one in steps)} needs")
    for budget in BUDGETS:
        _print_budget(budget, {name: tallies[name, budget] for name, _, _ in MODES})
    if options.missing:
        _print_missing(tallies[MODES[-2][0], 1000])


def _print_budget(budget: int, tallies: Mapping[str, Tally]) -> None:
    print(f"\nWithin {budget:,} tokens: share of what the steps needed, %")
    print(f"{'':24}{'all':>7}{'work':>7}" + "".join(f"{kind:>12}" for kind in KINDS) + f"{'tokens':>8}{'over':>6}")
    for name, tally in tallies.items():
        shares = [tally.share(), tally.share(*KINDS[2:]), *(tally.share(kind) for kind in KINDS)]
        widths = (7, 7, *(12 for _ in KINDS))
        cells = "".join(f"{_percent(share):>{width}}" for share, width in zip(shares, widths, strict=True))
        print(f"{name:24}{cells}{tally.tokens / tally.steps:8.0f}{len(tally.over):6}")
    for depth in range(4):
        print(f"  at depth {depth}")
        for name, tally in tallies.items():
            shares = [
                tally.share(depth=depth),
                *(tally.share(kind, depth=depth) for kind in ("root", "path", "results", "failures")),
            ]
            words = zip(("all", "root", "path", "results", "failures"), shares, strict=True)
            print(f"    {name:22}" + "  ".join(f"{word} {_percent(share)}" for word, share in words))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _print_missing(tally: Tally) -> None:
    print("\nMissing within 1,000 tokens")
    for step, need in tally.missing:
        where = f"{need.quote[:60]!r} in {', '.join(need.entries)}"
        print(f"{step.id:8} depth {step.depth} {need.kind:10} {where}; asked {step.prompt!r}")
