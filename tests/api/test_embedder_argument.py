"""What may be passed as `embedder` and `dimensions`."""

from __future__ import annotations

from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.testing.hashed import Hashed


def embed(texts: list[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


class Half:
    identity, dimension = "half/2", 2

    async def embed(self, texts: list[str]) -> None: ...


@pytest.mark.requirement("SEARCH-4")
@pytest.mark.parametrize(
    ("embedder", "dimensions", "said"),
    [
        (Half(), None, "lacks quick, embed_now, close"),
        (Hashed, None, r"not the class Hashed: write Hashed\("),
        (7, None, "not int"),
        (embed, None, "dimensions=384"),
        (embed, 0, "dimensions"),
        (embed, True, "dimensions"),
        (embed, "2", "dimensions"),
        (embed, 2.0, "dimensions"),
        (None, -1, "dimensions"),
    ],
)
def test_what_cannot_be_used_is_named(embedder: Any, dimensions: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        Germane.open(":memory:", embedder=embedder, dimensions=dimensions)


async def test_dimensions_that_contradict_the_embedder_are_refused() -> None:
    with pytest.raises(InvalidInput, match="dimensions is 3, but the embedder hashed/16 has 16"):
        async with Germane.open(":memory:", embedder=Hashed(), dimensions=3):
            pass
    async with Germane.open(":memory:", embedder=Hashed(), dimensions=16):
        pass


@pytest.mark.requirement("SEARCH-4")
async def test_a_function_is_an_embedder() -> None:
    """What is recorded has vectors of it, and is found by them."""
    async with Germane.open(":memory:", embedder=embed, dimensions=2, freeze=False) as germane:
        agent = germane.agent("house")
        await agent.remember("The vase is blue")
        assert {name: ok for name, _, ok in (await germane.check()).findings}["vectors"]
        (hit,) = await agent.recall("colour of pottery")
        assert "vase" in hit.candidate.text
        assert germane.state.embedder_fault == ""
