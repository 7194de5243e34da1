"""What opening does so that answers come in time, and what it refuses."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.api.warm_up import freeze
from germane.embedders.distilled import Distilled
from germane.tokenizers import bpe


@pytest.mark.parametrize(("frozen", "calls"), [(0, 1), (7, 0)])
def test_what_is_alive_is_frozen_once_a_process(monkeypatch: pytest.MonkeyPatch, frozen: int, calls: int) -> None:
    """Whoever was first, germane or its user: a second time would keep what has become garbage since."""
    made: list[None] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: frozen)
    monkeypatch.setattr(gc, "freeze", lambda: made.append(None))
    freeze()
    assert len(made) == calls


async def test_freezing_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application that minds its own collector is left alone."""
    made: list[None] = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    monkeypatch.setattr(gc, "freeze", lambda: made.append(None))
    async with Germane.open(":memory:", freeze=False):
        assert made == []


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
    load = bpe._load

    def counted(package: str, encoding: str) -> Any:
        loaded.append(encoding)
        return load(package, encoding)

    monkeypatch.setattr(bpe, "_load", counted)
    async with Germane.open(tmp_path / "germane.db", warm=False) as germane:
        agent = germane.agent()
        await agent.remember("Ana lives in Lisbon")
        assert await agent.recall("Lisbon")
        assert loaded == []
        context = await agent.assemble([{"role": "user", "content": "Where does Ana live?"}], model="gpt-4o", deadline=None)
        assert context.metadata.memories_injected == 1
        assert loaded == ["o200k_base"]
