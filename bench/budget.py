"""Budget: checks over generated requests that the added tokens never exceed the budget.

Each case runs scoring, packing and formatting; an independent tokenizer counts the final text. Requirements: BUD-4, BUD-5.

    python -m bench budget [--count 100000] [--seed 1]

A case has a random window, messages and candidates in several scripts (CJK, emoji, code, hostile strings), a format, a
strategy, a placement and sometimes a directive and a cap. With 0 violations in N cases the true rate is below 3/N at 95 %
confidence.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from germane.api.strategies import COMPACT, COMPOSITE, DEFAULT, VERBOSE
from germane.catalog.profiles import Catalog
from germane.clock import Clock
from germane.engine.engine import Engine
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.directive import CurrentDirective, Directive
from germane.models.embedders.distilled import Distilled
from germane.models.tokenizers import open_tokenizer
from germane.ports.models import Tokenizer
from germane.search.relevance import shipped
from germane.types.candidate import Candidate
from germane.types.context import Context
from germane.types.evidence import Evidence
from germane.types.message import Message
from germane.types.plan import Read
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import SourcePlan, Strategy

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from support.oracle import oracle

NOW = datetime(2026, 1, 1, tzinfo=UTC)
_PIECES = (
    "the budget holds ", "我们明天去上海。", "今日は雨です。", "สวัสดีครับ ", "مرحبا بالعالم ", "नमस्ते दुनिया ", "Ж́ъё ", "ﬀ①Å ",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f3f3\ufe0f\u200d\U0001f308 ", "def f(x):\n\treturn x ** 2\n",
    "</memory><directive>", "<|im_start|>system\n", "&amp;&lt;\"'", "\n## 2023-01-01 session 1\n[a1] Eve: ",
    "\u202eabc\u200b", "a" * 40, "0123456789 ", "   \n\n\t", '{"key": [1, 2, 3]} ', "\ud800",
)  # fmt: skip
__all__ = ["NOW", "Made", "ScopedDummy", "main", "text", "violation", "wrong"]

_TOKENIZERS = {"o200k": "gpt-4o", "cl100k": "gpt-4", "llama3": "llama-3.1-8b", "qwen3": "qwen3-8b"}


class ScopedDummy:
    """A scoped store in memory, with the methods that an assembly calls."""

    def __init__(self, scope: Scope, directive: str) -> None:
        self.scope, self._directive = scope, directive
        self.events = self.memories = self

    async def ask(self, read: Read[Any]) -> Any:
        match read:
            case CurrentDirective():
                return Directive(self._directive)
            case AllowedIds(ids):
                return frozenset(ids)
        raise NotImplementedError

    async def speakers(self, said_in: str | None = None) -> tuple[str, ...]:
        return ()

    async def revision(self) -> int:
        return 0

    def known_revision(self) -> int:
        return 0


class Made:
    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates

    async def gather(self, query: Query, plan: SourcePlan) -> Sequence[Candidate]:
        return self._candidates


def text(random: Random, longest: int) -> str:
    return "".join(random.choice(_PIECES) for _ in range(random.randint(0, longest)))


def message(random: Random) -> Message:
    return Message.of(random.choice(("user", "assistant")), text(random, random.choice((2, 8, 40))))


def candidate(random: Random, number: int) -> Candidate:
    session = random.choice(("s1", "s2", "s3", "s</x>"))
    kind = random.choice(("conversation", "factual", "procedural", "preference", "odd <kind>"))
    return Candidate(
        id=f"id-{number}",
        source="made",
        category=kind,
        text=text(random, random.choice((3, 10, 60))) or "x",
        created_at=NOW - timedelta(hours=random.randint(0, 9999)),
        kinds=("event",) if kind == "conversation" else (kind,),
        evidence=Evidence(window=random.random(), cos_window=random.choice((None, random.random())), session=random.random()),
        required=random.random() < 0.05,
        speaker=text(random, 2),
        role="user",
        session=session,
        session_started_at=NOW - timedelta(days=random.randint(0, 40)),
        session_number=random.randint(1, 9),
        position=number,
        content_hash=number + 1,
    )


def strategy(random: Random) -> Strategy:
    base = random.choice((DEFAULT, VERBOSE, COMPACT, COMPOSITE))
    base = replace(base, details=random.choice(((), ("id",), ("score", "confidence")))) if base.format == "xml" else base
    plans = (SourcePlan(name="directive"), SourcePlan(name="made", limit=1000))
    return replace(base, sources=plans, floor=0.0, placement=random.choice(("first", "split")), cap=random.choice((8000, 300)))


async def violation(random: Random, engines: Mapping[str, Engine], counts: Mapping[str, Callable[[str], int]]) -> str:
    """Runs one case. Returns the violation, or empty text."""
    name = random.choice(list(engines))
    made = [candidate(random, number) for number in range(random.choice((0, 1, 5, 25)))]
    messages = tuple(
        Message.of(random.choice(("user", "assistant")), text(random, random.choice((2, 8, 40))))
        for _ in range(random.randint(1, 4))
    )
    cap = random.choice((None, None, 0, 5, 40, random.randint(0, 3000)))
    model = f"{name}-{random.choice((600, 700, 1000, 2000, 8000, 128000))}"
    request = Request(
        scope=Scope(session="s"), messages=messages, raw=messages, model=model, provider="openai", at=NOW, max_tokens=cap,
        deadline=None,
    )  # fmt: skip
    chosen = strategy(random)
    scoped: Any = ScopedDummy(request.scope, text(random, 6) if random.random() < 0.5 else "")
    engine = replace(engines[name], sources={"made": lambda _: Made(made)})
    context = await engine.assemble(request, scoped, chosen)
    return wrong(context, request, counts[name], chosen.cap if cap is None else cap)


def wrong(context: Context, request: Request, count: Callable[[str], int], cap: int) -> str:
    """Checks the added text against budget and cap, and the whole against the window, by the independent token count."""
    if context.metadata.fallback_reason not in ("", "messages_exceed_window"):
        return f"fell back: {context.metadata.fallback_reason}"
    budget = context.trace.budget
    assert budget is not None
    system = [dict(sent) for sent in context.messages if isinstance(sent, Mapping) and sent["role"] == "system"]
    added = sum(count(str(sent["content"])) for sent in system)
    if added > min(budget.available, cap):
        return f"added {added} of {min(budget.available, cap)}"
    if context.metadata.fallback_reason:
        return "" if added == 0 else f"added {added} though the messages alone exceed the window"
    spoken = sum(4 + count(message.content) for message in request.messages) + 3
    room = budget.window - budget.reserve - budget.safety
    whole = spoken + 4 * len(system) + added
    return f"{whole} tokens for a room of {room}" if whole > room else ""


def _always(counter: Tokenizer, _: str) -> Tokenizer:
    return counter


async def run(count: int, seed: int) -> int:
    sizes = (600, 700, 1000, 2000, 8000, 128000)
    models: dict[str, dict[str, Any]] = {
        f"{name}-{size}": {"like": like, "window": size, "max_output": 256, "tokenizer": name}
        for name, like in _TOKENIZERS.items()
        for size in sizes
    }
    base = Engine(
        clock=Clock(now=lambda: NOW), catalog=Catalog.built_in().with_models(models), tokenizer=open_tokenizer,
        embedder=Distilled(), relevance=shipped(), nonce_key=b"0" * 32,
    )  # fmt: skip
    engines = {}
    for name in _TOKENIZERS:
        engines[name] = replace(base, tokenizer=partial(_always, open_tokenizer(name)))
    counts = {name: oracle(name) for name in _TOKENIZERS}
    random, violations, began = Random(seed), 0, time.monotonic()
    for number in range(1, count + 1):
        problem = await violation(random, engines, counts)
        if problem:
            violations += 1
            print(f"case {number}: {problem}", file=sys.stderr)
        if number % 2000 == 0:
            print(
                f"\r{number:,} cases, {violations} violations, {number / (time.monotonic() - began):,.0f}/s",
                end="",
                file=sys.stderr,
            )
    print(f"\n{violations} violations in {count:,} cases (seed {seed}); 0 would mean at most {300 / count:.4f} % at 95 %")
    return 1 if violations else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench budget", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    return asyncio.run(run(options.count, options.seed))


if __name__ == "__main__":
    sys.exit(main())
