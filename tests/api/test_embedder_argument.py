"""What may be passed as `embedder` and `dimensions`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane_testing.builders import Hashed


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


@pytest.mark.requirement("SEARCH-3")
@pytest.mark.parametrize(
    ("embedder", "model", "said"),
    [
        (lambda texts: [[1.0, 2.0] for _ in texts], None, "a lambda, .* give embedder_model="),
        (partial(embed), None, "a partial, .* give embedder_model="),
        (embed, "", "not empty"),
        (embed, 7, "embedder_model must be a string"),
        ("distilled", "mine", "only with a function"),
        (Hashed(), "mine", "only with a function"),
    ],
)
def test_a_model_is_named_for_functions_alone(embedder: Any, model: Any, said: str) -> None:
    """And has to be where the function has no name of its own."""
    dimensions = 2 if callable(embedder) else None
    with pytest.raises(InvalidInput, match=said):
        Germane.open(":memory:", embedder=embedder, dimensions=dimensions, embedder_model=model)


@pytest.mark.requirement("SEARCH-3")
async def test_functions_of_one_name_and_two_models_share_no_vectors(tmp_path: Path) -> None:
    """The second one finds texts without a vector of its own; the first one finds its vectors under any name."""

    def opened(embedder: Any, model: str) -> Germane:
        return Germane.open(tmp_path / "germane.db", embedder=embedder, dimensions=2, embedder_model=model, freeze=False)

    async with opened(embed, "small") as germane:
        await germane.agent("house").remember("The vase is blue")
    for embedder, model, sound in ((embed, "large", False), (lambda texts: [[1.0, 0.0] for _ in texts], "small", True)):
        async with opened(embedder, model) as germane:
            assert {name: ok for name, _, ok in (await germane.check()).findings}["vectors"] is sound


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
        (hit,) = await agent.search("colour of pottery")
        assert "vase" in hit.candidate.text
        assert germane.state.embedder_fault == ""
