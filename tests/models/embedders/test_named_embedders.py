"""Embedders by the names that settings use."""

from __future__ import annotations

import sys

import pytest

from germane.errors import InvalidInput, MissingExtra, UnknownName
from germane.models.embedders.distilled import Distilled
from germane.models.embedders.minilm import MiniLM
from germane.models.embedders.registry import open_embedder
from germane.models.embedders.static import Static


def test_each_name_opens_its_embedder() -> None:
    """Nothing is loaded or asked yet."""
    assert isinstance(open_embedder("distilled"), Distilled)
    assert isinstance(open_embedder("static"), Static)
    assert isinstance(open_embedder("minilm"), MiniLM)


@pytest.mark.parametrize(
    ("name", "base_url", "shown"),
    [
        ("openai:text-embedding-3-small", None, "<OpenAICompatible text-embedding-3-small/256 at api.openai.com>"),
        ("openai:bge", "http://localhost:8080/v1", "<OpenAICompatible bge/256 at localhost>"),
        ("http://localhost:11434/v1#nomic-embed-text", None, "<OpenAICompatible nomic-embed-text/256 at localhost>"),
    ],
)
def test_an_endpoint_is_named_by_model_or_address(name: str, base_url: str | None, shown: str) -> None:
    """The vendor's own address unless another is given."""
    assert repr(open_embedder(name, base_url=base_url, dimension=256)) == shown


@pytest.mark.parametrize("name", ["openai:", "http://localhost:11434/v1"])
def test_an_endpoint_without_a_model_is_refused(name: str) -> None:
    """The message says how to write it."""
    with pytest.raises(InvalidInput, match="names no model"):
        open_embedder(name)


def test_an_unknown_name_lists_the_known_ones() -> None:
    """What to do stands in the message."""
    with pytest.raises(UnknownName, match=r"'glove'.*'distilled', 'minilm', 'static', 'openai:<model>'"):
        open_embedder("glove")


def test_without_the_extra_the_endpoint_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """When it is opened, not when it is first used."""
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    with pytest.raises(MissingExtra, match=r"germane\[openai\]"):
        open_embedder("openai:m")
