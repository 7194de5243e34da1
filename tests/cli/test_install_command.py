"""`germane install`, `uninstall` and `doctor --client`: the change is shown and asked for, made once, tried and taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from germane.cli import main
from germane.service.local.main import stop
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("HOOK-1")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A person's home, with a service that the first command starts."""
    made = tmp_path_factory.mktemp("home")
    made.chmod(0o700)
    project = made / "shop"
    (project / ".git").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GERMANE_DB", "GERMANE_SERVER"):
            patch.delenv(name, raising=False)
        patch.setenv("HOME", str(made))
        patch.setenv("GERMANE_HOME", str(made / "data"))
        patch.setenv("PYTHONPATH", str(ROOT / "src"))
        patch.chdir(project)
        yield made
        assert stop(str(made / "data"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    capsys.readouterr()
    assert main(arguments) == code, capsys.readouterr()
    told = capsys.readouterr()
    return told.out, told.err


def test_nothing_is_changed_where_nobody_can_be_asked(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The change is shown all the same, without the key."""
    out, err = run(capsys, "install", "gemini", code=2)
    assert '+  "mcpServers": {' in out
    assert "--yes" in err
    assert not (home / ".gemini").exists()


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini", "cursor", "vscode"])
def test_a_client_is_installed_tried_and_taken_out(home: Path, client: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The doctor sends a prompt through the hooks as they are written, and lists the tools of the server."""
    before = sorted(path for path in home.rglob("*.json*") if "data" not in path.parts)
    told = json.loads(run(capsys, "install", client, "--yes", "--json")[0])
    assert told["changed"]
    assert "changed" in run(capsys, "install", client, "--yes")[0]
    findings = json.loads(run(capsys, "doctor", "--client", client, "--json")[0])
    assert findings["healthy"]
    names = [one["name"] for one in findings["checks"]]
    assert names[:1] == ["settings"]
    assert names[-1] == "tools"
    assert (len(names) == 5) == (client in ("claude-code", "codex", "gemini"))
    run(capsys, "uninstall", client, "--yes")
    assert sorted(path for path in home.rglob("*.json*") if "data" not in path.parts) == before
    assert "nothing" in run(capsys, "uninstall", client, "--yes")[0]


def test_the_doctor_says_what_is_missing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And what to do."""
    findings = json.loads(run(capsys, "doctor", "--client", "cursor", "--json", code=1)[0])["checks"]
    assert [one["name"] for one in findings if not one["fine"]] == ["settings"]
    assert "germane install cursor" in findings[0]["finding"]


def test_an_unknown_client_is_refused_with_those_that_there_are(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By all three commands."""
    for arguments in (("install", "emacs"), ("uninstall", "emacs"), ("doctor", "--client", "emacs")):
        assert "claude-code" in run(capsys, *arguments, code=2)[1]
