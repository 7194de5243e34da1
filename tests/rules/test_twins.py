"""Twins: the blocking classes are as `tools/twins.py` makes them from the asynchronous ones, of today."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import twins

from support.source_tree import modules


def test_the_twins_are_those_of_the_classes_of_today() -> None:
    """A method that is added or changed has its twin in the same commit."""
    assert twins.path_of("germane.sync").read_text("utf-8") == twins.sync(), "run: make twins"


@pytest.mark.parametrize("module", twins.OF_THE_CLIENT)
def test_the_blocking_client_is_that_of_the_asyncio_client_of_today(module: str) -> None:
    """Its handles too."""
    assert twins.path_of(module).read_text("utf-8") == twins.client(module), "run: make twins"


def test_the_rules_know_the_made_modules_by_their_first_line() -> None:
    """They are made in whole, so that rules for written code don't read them."""
    assert [module.name for module in modules() if module.made] == [
        "api.remote.blocking_handles",
        "api.remote.blocking_http",
        "api.remote.handles",
        "grpc.blocking",
        "sync",
    ]


ASYNCHRONOUS = """
from __future__ import annotations

from collections.abc import AsyncIterator
from os import PathLike

LIMIT = 5


class Room:
    \"\"\"A room.\"\"\"

    @operation("read")
    async def get(self, id: str, *more: str, limit: int = LIMIT, **rest: object) -> PathLike[str]:
        \"\"\"Returns it: `async with room` and `await room.get()`.\"\"\"
        return await self._get(id)

    def all(self) -> AsyncIterator[PathLike[str]]:
        return self._all()

    @property
    def name(self) -> str:
        return "room"

    async def _get(self, id: str) -> str: ...
"""
BLOCKING = """class Room(BlockingTwin):
    \"\"\"As `a.room.Room`.\"\"\"

    _awaited: AwaitedRoom

    def get(self, id: str, *more: str, limit: int = LIMIT, **rest: object) -> PathLike[str]:
        \"\"\"Returns it: `with room` and `room.get()`.\"\"\"
        return self._loop.call(self._awaited.get, id, *more, limit=limit, **rest)

    def all(self) -> Iterator[PathLike[str]]:
        return self._loop.each(self._awaited.all())

    @property
    def name(self) -> str:
        return self._awaited.name
"""


def test_a_twin_has_the_public_methods_with_their_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other decorators say nothing about the twin. A default is imported when the module is loaded, a type isn't."""
    for name, text in {"a.room": ASYNCHRONOUS, twins.BASES: "class BlockingTwin: ..."}.items():
        path = tmp_path.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    monkeypatch.setattr(twins, "SOURCES", tmp_path)
    monkeypatch.setattr(twins, "TWINS", (("a.room", "Room", "BlockingTwin"),))
    made = twins.sync()
    assert made.endswith(BLOCKING)
    assert "\nfrom a.room import LIMIT\n" in made
    assert "\n    from os import PathLike\n" in made
