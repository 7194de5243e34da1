"""The examples run as they stand: no key, no network."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "first_steps.py": "Prefers e-mail to phone calls",
    "blocking.py": "borrow five books",
    "own_strategy.py": "facts-first: 2 items",
    "own_source.py": "Blue vase, 24 euros",
    "chat_loop.py": "a model would answer",
    "service_client.py": "<Answer 1 messages",
    "memory_agent.py": "Wants very short answers",
}


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_an_example_runs_and_shows_what_it_promises(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every file of examples/ is run, and none is forgotten here."""
    monkeypatch.chdir(tmp_path)
    said = iter(["hello", ""])
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert EXPECTED[name] in capsys.readouterr().out
