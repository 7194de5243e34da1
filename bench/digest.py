"""Digest: checks over generated stores that the memory digest keeps its budgets and hides what is sensitive (DIG-1 to 3).

Each case is a store of up to 60 memories of all kinds (several scripts, hostile strings, any sensitivity), random settings
`memory.v1`, and a question. Checked on the final text: items and characters of each kind and in total, tokens by an independent
tokenizer, ids and provenance in full, no sensitive memory unless the settings allow it, one line for each item, and the same
text when the store returns its memories in another order. With 0 violations in N cases the true rate is below 3/N at 95 %
confidence.

    python -m bench digest [--count 100000] [--seed 1]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from bench.budget import NOW, Made, ScopedDummy, text
from germane.api.digest import digest_strategy
from germane.catalog.profiles import Catalog
from germane.clock import Clock
from germane.engine.engine import Engine
from germane.kinds.memories.value import CATEGORIES
from germane.models.embedders.distilled import Distilled
from germane.models.tokenizers import open_tokenizer
from germane.search.relevance import shipped
from germane.types.candidate import Candidate, Provenance
from germane.types.context import Context
from germane.types.evidence import Evidence
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Strategy

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from support.oracle import oracle

__all__ = ["engine", "main", "problems", "violations"]

_ASKED = (Message.of("user", "what do we know about the launch?"),)
_LIMITS = {"items": (0, 1, 3, 12), "chars": (0, 90, 300, 800, 2400), "tokens": (0, 30, 200, 1000)}
_SENSITIVITIES = ("public", "private", "sensitive")


def _memory(random: Random, number: int) -> Candidate:
    kind, required = random.choice(tuple(CATEGORIES)), random.random() < 0.1
    title = text(random, 2) if kind in ("fact", "note", "procedure") and random.random() < 0.5 else ""
    body = text(random, random.choice((2, 6, 40))) or "x"
    return Candidate(
        id=f"0197-{number:04}",
        source="structured" if required else "memories",
        category=CATEGORIES[kind],
        kinds=(CATEGORIES[kind], kind),
        text=f"{title}: {body}" if title else body,
        title=title,
        created_at=NOW - timedelta(hours=random.randint(0, 9999)),
        evidence=Evidence(own=random.random(), curated=1.0, cos_own=random.choice((None, random.random()))),
        sensitivity=random.choice(_SENSITIVITIES),  # type: ignore[arg-type]
        required=required,
        position=number,
        content_hash=random.choice((0, number + 1, 7)),
        provenance=Provenance(session=random.choice((None, "s1")), message_id=random.choice((None, f"m{number}"))),
    )


def _settings(random: Random) -> dict[str, Any]:
    """Random settings; none at all in a third of the cases."""
    if random.random() < 0.33:
        return {}
    kinds = ("total", "fact", "note", "procedure", "episode", "preference", "behavior")
    budgets = {
        kind: {name: random.choice(values) for name, values in _LIMITS.items() if random.random() < 0.4}
        for kind in kinds
        if random.random() < 0.4
    }
    v1: dict[str, Any] = {"budgets": budgets}
    if random.random() < 0.3:
        v1["allow_sensitivities"] = random.sample(_SENSITIVITIES, random.randint(0, 3))
    return {"v1": v1}


def problems(context: Context, strategy: Strategy, allowed: Sequence[str], count: Callable[[str], int]) -> Iterator[str]:
    """What is wrong with a digest that was written without a directive."""
    if context.metadata.fallback_reason:
        yield f"fell back: {context.metadata.fallback_reason}"
    shares, lines = strategy.shares, context.added.split("\n")[3:-1]
    if len(lines) != len(context.items):
        yield f"{len(lines)} lines for {len(context.items)} items"
        return
    used: dict[str, Counter[str]] = {"items": Counter(), "chars": Counter()}
    for line, item in zip(lines, context.items, strict=True):
        candidate = item.scored.candidate
        kind = candidate.kinds[-1]
        pool = shares.pools.get(kind, kind)
        used["items"][pool] += 1
        used["chars"][pool] += len(line) + 1
        begin = f"- [{kind}] {candidate.id} ({candidate.sensitivity}) "
        if not line.startswith(begin) or not line.endswith(_origin(candidate)):
            yield "an id or a provenance that isn't whole"
        if candidate.sensitivity not in allowed:
            yield f"a {candidate.sensitivity} memory"
    used["items"]["total"], used["chars"]["total"] = len(lines), len(context.added)
    for name, cap in {**shares.kinds, "total": shares.total}.items():
        for measure in ("items", "chars"):
            limit, spent = getattr(cap, measure), used[measure][name]
            if lines and limit is not None and spent > limit:
                yield f"{name}: {spent} {measure} of {limit}"
    if count(context.added) > strategy.cap:
        yield f"{count(context.added)} tokens of {strategy.cap}"


def _origin(candidate: Candidate) -> str:
    origin = candidate.provenance
    named = [f"{what} {name}" for what, name in (("session", origin.session), ("message", origin.message_id)) if name]
    return f" ({', '.join(('user', *named, candidate.created_at.date().isoformat()))})"


async def violations(random: Random, engine: Engine, count: Callable[[str], int]) -> list[str]:
    """Runs one case, with the memories in two orders."""
    made = [_memory(random, number) for number in range(random.choice((0, 3, 12, 60)))]
    strategy = digest_strategy(_settings(random))
    strategy = replace(strategy, sources=tuple(plan for plan in strategy.sources if plan.name != "directive"), need=0.0)
    strategy = replace(strategy, effort=random.choice((None, "medium")))
    allowed = strategy.sensitivities or ()
    texts = []
    for found in (made, random.sample(made, len(made))):
        named: dict[str, list[Candidate]] = {"structured": [], "memories": []}
        for candidate in found:
            named[candidate.source].append(candidate)
        sources = {name: _source(own) for name, own in named.items()}
        request = Request(
            scope=Scope(), messages=_ASKED, raw=_ASKED, model="gpt-4o", provider="openai", at=NOW, deadline=None,
            filters=Filters(sensitivities=allowed),
        )  # fmt: skip
        scoped: Any = ScopedDummy(request.scope, "")
        context = await replace(engine, sources=sources).assemble(request, scoped, replace(strategy, placement="split"))
        texts.append(context)
    seen = list(problems(texts[0], strategy, allowed, count))
    return seen if texts[0].added == texts[1].added else [*seen, "another order, another text"]


def _source(found: Sequence[Candidate]) -> Callable[[Any], Made]:
    return lambda _: Made(found)


def engine() -> Engine:
    """An engine whose clock stands still."""
    return Engine(
        clock=Clock(now=_now),
        catalog=Catalog.built_in(),
        tokenizer=open_tokenizer,
        embedder=Distilled(),
        relevance=shipped(),
        nonce_key=b"0" * 32,
    )


async def run(count: int, seed: int) -> int:
    random, failed, began, made = Random(seed), 0, time.monotonic(), engine()
    for number in range(1, count + 1):
        if found := await violations(random, made, oracle("o200k")):
            failed += 1
            print(f"case {number}: {'; '.join(sorted(set(found)))}", file=sys.stderr)
        if number % 1000 == 0:
            rate = number / (time.monotonic() - began)
            print(f"\r{number:,} stores, {failed} violations, {rate:,.0f}/s", end="", file=sys.stderr)
    print(f"\n{failed} violations in {count:,} stores (seed {seed}); 0 would mean at most {300 / count:.4f} % at 95 %")
    return 1 if failed else 0


def _now() -> datetime:
    return NOW


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench digest", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    return asyncio.run(run(options.count, options.seed))


if __name__ == "__main__":
    sys.exit(main())
