"""Pseudonyms: equal in every process that opens the store, different for another store."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from germane import Germane
from germane.cli.app import run
from germane.settings.settings import Settings

pytestmark = pytest.mark.requirement("OPS-1")


async def test_it_is_the_same_after_a_restart_and_in_another_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command is how an operator finds an org's lines."""
    async with Germane.open(tmp_path / "a.db") as germane:
        first = germane.pseudonym("acme")
        assert germane.pseudonym("acme") != germane.pseudonym("other")
    async with Germane.open(tmp_path / "a.db") as again, Germane.open(tmp_path / "b.db") as other:
        assert again.pseudonym("acme") == first
        assert other.pseudonym("acme") != first
    assert re.fullmatch("[0-9a-f]{12}", first)


async def test_a_key_of_the_settings_goes_before_the_stores(tmp_path: Path) -> None:
    """So it is the same over several stores."""
    settings = Settings(nonce_key=bytes(32))
    async with Germane.open(tmp_path / "a.db", settings=settings) as a, Germane.open(tmp_path / "b.db", settings=settings) as b:
        assert a.pseudonym("acme") == b.pseudonym("acme")


def test_the_command_says_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Alone on standard output, several each beside its id, or as JSON."""
    db = ["--db", str(tmp_path / "a.db")]
    assert run([*db, "keys", "create", "--org", "acme"]) == 0
    capsys.readouterr()
    assert run([*db, "pseudonym", "acme"]) == 0
    stands = capsys.readouterr().out.strip()
    assert re.fullmatch("[0-9a-f]{12}", stands)
    assert run([*db, "pseudonym", "acme", "support"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == [stands, "acme"]
    assert run([*db, "--json", "pseudonym", "acme"]) == 0
    assert json.loads(capsys.readouterr().out) == {"pseudonyms": {"acme": stands}}
