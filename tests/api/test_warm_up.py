"""What opening does so that answers come in time, and what it refuses."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput
from germane.api.warm_up import freeze
from germane.embedders.static import Static


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
    vocabulary: list[Static] = []
    typical = Static.typical

    def counted(static: Static) -> Any:
        vocabulary.append(static)
        return typical(static)

    monkeypatch.setattr(Static, "typical", counted)
    async with Germane.open(path) as germane:
        assert len(vocabulary) == 1
        before = set(sys.modules)
        context = await germane.agent().assemble(
            [{"role": "user", "content": "Where does Ana live?"}], model="gpt-4o", deadline=None
        )
        assert context.metadata.memories_injected == 1
        assert len(vocabulary) == 1
        assert set(sys.modules) == before
