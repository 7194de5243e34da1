"""A plain function as an embedder."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from germane.errors import EmbedderError, InvalidInput
from germane.models.embedders.registry import FunctionEmbedder
from germane.ports.models import is_contextual

ASKED: list[list[str]] = []


def lengths(texts: list[str]) -> list[list[float]]:
    ASKED.append(texts)
    return [[float(len(text)), 0.0] for text in texts]


async def awaited(texts: list[str]) -> Any:
    return np.array(lengths(texts))


class Model:
    def __call__(self, texts: list[str]) -> list[list[float]]:
        return lengths(texts)


@pytest.mark.requirement("SEARCH-4")
@pytest.mark.parametrize("function", [lengths, awaited, Model(), partial(awaited)])
async def test_a_function_gives_unit_vectors(function: Callable[[list[str]], Any]) -> None:
    """Blank texts aren't sent, and get zeros."""
    embedder = FunctionEmbedder(function, 2)
    ASKED.clear()
    assert (await embedder.embed(["abc", " ", "de"])).tolist() == [[1, 0], [0, 0], [1, 0]]
    assert (await embedder.embed([])).shape == (0, 2)
    assert ASKED == [["abc", "de"]]
    assert not embedder.quick
    assert is_contextual(embedder)


def test_the_identity_names_the_function() -> None:
    """So that vectors of different functions are never compared."""
    identities = {FunctionEmbedder(function, 2).identity for function in (lengths, awaited, Model())}
    assert len(identities) == 3
    assert FunctionEmbedder(lengths, 2).identity == f"function/{__name__}.lengths/2"
    assert FunctionEmbedder(lengths, 2, model="gte-small").identity == "function/gte-small/2"


@pytest.mark.requirement("SEARCH-4")
@pytest.mark.parametrize(
    "answer",
    [None, "text", [[1.0, 2.0], [1.0]], [[1.0, 2.0, 3.0]], [1.0, 2.0], [[1.0, math.nan]], [[math.inf, 0.0]], [["a", "b"]]],
    ids=str,
)
async def test_anything_but_vectors_is_an_error(answer: Any) -> None:
    with pytest.raises(EmbedderError, match="test_function"):
        await FunctionEmbedder(lambda texts: answer, 2).embed(["one"])


async def test_an_exception_of_the_function_is_named_by_its_type() -> None:
    """Its text may hold content."""

    def broken(texts: list[str]) -> None:
        raise ValueError(texts[0])

    with pytest.raises(EmbedderError) as raised:
        await FunctionEmbedder(broken, 2).embed(["secret"])
    assert "ValueError" in str(raised.value)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("dimension", [0, -1, True, 2.0, "2", None])
def test_a_dimension_must_be_a_whole_number(dimension: Any) -> None:
    with pytest.raises(InvalidInput, match="dimensions"):
        FunctionEmbedder(lengths, dimension)


async def test_a_blocking_function_holds_no_event_loop_and_at_most_four_threads() -> None:
    """A fifth call waits, also where the first callers have given up."""
    go, running = threading.Event(), list[str]()

    def slow(texts: list[str]) -> list[list[float]]:
        running.extend(texts)
        go.wait(10)
        return lengths(texts)

    embedder = FunctionEmbedder(slow, 2)
    calls = [asyncio.create_task(embedder.embed([str(number)])) for number in range(5)]
    while len(running) < 4:  # noqa: ASYNC110
        await asyncio.sleep(0)
    calls[0].cancel()
    await asyncio.wait([calls[0]])
    assert len(running) == 4
    go.set()
    assert all(row.shape == (1, 2) for row in await asyncio.gather(*calls[1:]))
