"""Refused is cheap: however much the request brings, germane looks at its size only, and all of it comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest

from germane.api.strategies import DEFAULT
from germane.dialects.registry import parse_all
from germane.engine.admission import AdmissionQueue, Overloaded
from germane.engine.engine import Engine
from germane.kinds.memories.directive import Directive
from germane.models.tokenizers import open_tokenizer
from germane.types.context import Context
from germane_testing.time_warp import warped
from support.scoped_stores import DIRECTIVE, engine, request, scoped


class Full(AdmissionQueue):
    async def acquire(self, *_: object) -> Any:
        raise Overloaded


@dataclass
class Counting:
    """A tokenizer that remembers how much it was given to count."""

    name: str = "counting"
    exact: bool = True
    counted: int = 0
    within: Any = field(default_factory=lambda: open_tokenizer("o200k"))

    def count(self, text: str) -> int:
        self.counted += len(text)
        return int(self.within.count(text))

    def ceiling(self, text: str) -> int:
        return int(self.within.ceiling(text))


def many(count: int, text: str = "message {}") -> list[dict[str, Any]]:
    return [{"role": ("user", "assistant")[at % 2], "content": text.format(at)} for at in range(count)]


async def refused(raws: list[dict[str, Any]], model: str = "gpt-4.1", **fields: Any) -> tuple[Context, Counting, Engine]:
    tokenizer = Counting()
    germane = replace(engine(admission=Full()), tokenizer=lambda _: tokenizer)
    germane.directive_cache.learn(scoped().scope, Directive(DIRECTIVE))
    asked = request(model=model, raw=tuple(raws), messages=parse_all(raws), **fields)
    with pytest.MonkeyPatch.context() as patch:
        loop = asyncio.get_running_loop()
        patch.setattr(loop, "run_in_executor", partial(_in_a_thread_of_its_own, loop.run_in_executor))
        return await germane.assemble(asked, scoped(), DEFAULT), tokenizer, germane


def _in_a_thread_of_its_own(run: Callable[..., Any], executor: object, *work: Any) -> Any:
    assert executor is not None, "a shared thread was asked, which may be busy"
    return run(executor, *work)


@pytest.mark.requirement("ENGINE-4")
@warped
async def test_ten_thousand_messages_are_refused_by_their_size_and_come_back_whole() -> None:
    """The very objects, in order, after the directive; nothing but that is counted."""
    raws = many(10_000)
    context, tokenizer, _ = await refused(raws)
    assert (context.metadata.degradation_level, context.metadata.fallback_reason) == (2, "shed")
    assert DIRECTIVE in context.added
    assert all(one is two for one, two in zip(context.messages[1:], raws, strict=True))
    assert tokenizer.counted <= 4 * len(context.added)


@pytest.mark.requirement("ENGINE-4", "BUD-4")
@warped
async def test_what_may_not_fit_beside_the_messages_stays_out() -> None:
    """The ceiling is a token a byte: of a request that could be as large as the window, only itself."""
    raws = many(10_000, text="a somewhat longer message, number {}, of eight or nine words")
    context, _, _ = await refused(raws, model="gpt-4o")
    assert (context.added, context.metadata.degradation_level, context.metadata.fallback_reason) == ("", 3, "shed")
    assert all(one is two for one, two in zip(context.messages, raws, strict=True))


@pytest.mark.requirement("ENGINE-4", "BUD-4")
@warped
async def test_a_small_request_is_counted_exactly_though_refused() -> None:
    """8,192 tokens of window, 5,000 of them taken: by the ceiling there would be no room."""
    raws = many(1, text="word " * 3600)
    context, tokenizer, _ = await refused(raws, model="nobody-knows-it")
    assert DIRECTIVE in context.added
    assert tokenizer.counted >= 18_000


KINDS: dict[str, list[dict[str, Any]]] = {
    "long": [{"role": "user", "content": [{"type": "text", "text": "x" * 100_000}]}],
    "with ids": [{"role": "user", "content": "x", "id": str(at)} for at in range(2000)],
    "a picture": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]}],
}


@pytest.mark.requirement("ENGINE-4")
@pytest.mark.parametrize("kind", KINDS)
@warped
async def test_whatever_is_refused_has_its_directive(kind: str) -> None:
    raws = KINDS[kind]
    context, _, _ = await refused(raws)
    assert DIRECTIVE in context.added
    assert len(context.messages) == len(raws) + 1
