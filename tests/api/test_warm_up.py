"""What opening does so that answers come in time, and what it refuses."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.api import wiring
from germane.api.workers.warm_up import freeze
from germane.models import tokenizers
from germane.models.embedders import tables
from germane.models.embedders.distilled import Distilled


class Collector:
    """Stands in for the garbage collector of this process, whose settings the other tests share."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, frozen: int = 0, threshold: tuple[int, int, int] = (700, 10, 10)
    ) -> None:
        self.threshold, self.freezes = threshold, 0
        monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
        monkeypatch.setattr(gc, "freeze", self.freeze)
        monkeypatch.setattr(gc, "get_threshold", lambda: self.threshold)
        freeze.cache_clear()
        monkeypatch.setattr(gc, "set_threshold", self.set_threshold)

    def freeze(self) -> None:
        self.freezes += 1

    def set_threshold(self, *values: int) -> None:
        assert len(values) == 3
        self.threshold = values


@pytest.mark.parametrize(("frozen", "calls", "young"), [(0, 1, 10_000), (7, 0, 700)])
def test_what_is_alive_is_frozen_once_a_process(monkeypatch: pytest.MonkeyPatch, frozen: int, calls: int, young: int) -> None:
    """Whoever was first, germane or its user: a second time would keep what has become garbage since."""
    collector = Collector(monkeypatch, frozen=frozen)
    freeze()
    assert (collector.freezes, collector.threshold) == (calls, (young, 10, 10))


@pytest.mark.parametrize(
    ("own", "then"),
    [((2000, 10, 0), (10_000, 10, 0)), ((50_000, 5, 5), (50_000, 5, 5)), ((0, 10, 10), (0, 10, 10))],
    ids=["default", "rarer", "off"],
)
def test_walks_over_new_objects_become_rarer_and_never_more_frequent(
    monkeypatch: pytest.MonkeyPatch, own: tuple[int, int, int], then: tuple[int, int, int]
) -> None:
    """A collector that the program has switched off, or that walks more seldom, stays as it is."""
    collector = Collector(monkeypatch, threshold=own)
    freeze()
    assert collector.threshold == then


async def test_freezing_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application that minds its own collector is left alone."""
    collector = Collector(monkeypatch)
    async with Germane.open(":memory:", freeze=False):
        assert (collector.freezes, collector.threshold) == (0, (700, 10, 10))


@pytest.mark.parametrize("wrong", [{"path": 5}, {"settings": 5}, {"embedder": 5}], ids=repr)
def test_a_wrong_argument_to_open_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Germane.open(**{"path": ":memory:", **wrong})


async def test_the_first_search_loads_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is loaded at its first use is there when the file is open: the first answer would be late for it."""
    path = tmp_path / "germane.db"
    async with Germane.open(path) as germane:
        await germane.agent().remember("Ana lives in Lisbon")
    vocabulary: list[Distilled] = []
    whole_words = Distilled.whole_words

    def counted(embedder: Distilled) -> Any:
        vocabulary.append(embedder)
        return whole_words(embedder)

    monkeypatch.setattr(Distilled, "whole_words", counted)
    monkeypatch.setattr(tables, "_words", {})  # the other tests' embedders have them
    monkeypatch.setattr(wiring, "_searched_embedders", set())
    async with Germane.open(path) as germane:
        assert len(vocabulary) == 1
        before = set(sys.modules)
        context = await germane.agent().assemble(
            [{"role": "user", "content": "Where does Ana live?"}], model="gpt-4o", deadline=None
        )
        assert context.metadata.memories_injected == 1
        assert len(vocabulary) == 1
        assert set(sys.modules) == before


async def test_opening_without_warming_up_loads_no_vocabulary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For programs that store and search only; an assembly still works, and loads it."""
    loaded: list[str] = []
    load = tokenizers._load

    def counted(package: str, encoding: str) -> Any:
        loaded.append(encoding)
        return load(package, encoding)

    monkeypatch.setattr(tokenizers, "_load", counted)
    async with Germane.open(tmp_path / "germane.db", warm=False) as germane:
        agent = germane.agent()
        await agent.remember("Ana lives in Lisbon")
        assert await agent.search("Lisbon")
        assert loaded == []
        context = await agent.assemble([{"role": "user", "content": "Where does Ana live?"}], model="gpt-4o", deadline=None)
        assert context.metadata.memories_injected == 1
        assert loaded == ["o200k_base"]
