"""The front door closes what it opened, and nothing else."""

from __future__ import annotations

from pathlib import Path

from germane import Germane
from germane_testing.builders import Hashed


class Closing(Hashed):
    closed = False

    async def close(self) -> None:
        self.closed = True


async def test_an_embedder_that_was_given_is_not_closed(tmp_path: Path) -> None:
    """Its giver may use it elsewhere."""
    embedder = Closing()
    async with Germane.open(tmp_path / "germane.db", embedder=embedder):
        pass
    assert not embedder.closed
