"""Install: settings of all five clients: what comes in goes out again to the byte, and what is another's stays."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.service.clients.changes import ChangeRecord, FileChange, is_private, made_change
from germane.service.clients.entries import AGENTS, Where
from germane.service.clients.install import Plan, plan_install, plan_uninstall
from germane.service.clients.jsonc import read
from germane.service.local.caller import ServiceState
from support.examples import examples

pytestmark = pytest.mark.requirement("HOOK-1")

STATE = ServiceState({"port": "20001", "key": "gk_abc_secret", "pid": "7"})
CLIENTS = pytest.mark.parametrize("client", list(AGENTS))


@pytest.fixture
def where(tmp_path: Path) -> Where:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    return Where(home=home, project=tmp_path / "shop", environment={}, python="/opt/python")


def installed(client: str, where: Where, record: ChangeRecord, state: ServiceState = STATE, **options: Any) -> Plan:
    plan = plan_install(AGENTS[client], where, state, **options)
    for change in plan.changes:
        change.make()
    record.keep([one for one in plan.changes if not one.is_none])
    return plan


def uninstalled(client: str, where: Where, record: ChangeRecord) -> Plan:
    plan = plan_uninstall(AGENTS[client], where, record)
    for change in plan.changes:
        change.make()
    record.drop()
    return plan


def existing(path: Path) -> bytes:
    """A file that somebody has, in a layout of their own."""
    if path.suffix == ".toml":
        text = (
            '# mine\nmodel = "gpt-5"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "say done"   # loud'
        )
    else:
        stop = '{"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}'
        text = f'{{\r\n\t// mine\r\n\t"theme": "dark",\r\n\t"hooks": {stop},\r\n}}'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return text.encode()


@CLIENTS
def test_new_files_come_and_go(client: str, where: Where, tmp_path: Path) -> None:
    """They are this person's alone, and nothing is left of them."""
    record = ChangeRecord(tmp_path / "data", client)
    plan = installed(client, where, record)
    for change in plan.changes:
        assert change.path.stat().st_mode & 0o777 == 0o600
    uninstalled(client, where, record)
    assert not any(change.path.exists() for change in plan.changes)


@CLIENTS
def test_a_file_is_restored_to_the_byte(client: str, where: Where, tmp_path: Path) -> None:
    """With comments, tabs, line ends of another system and no last one; its permissions stay."""
    record = ChangeRecord(tmp_path / "data", client)
    paths = [file.path for file in AGENTS[client].files(where, STATE, "command")]
    before = {path: existing(path) for path in paths}
    for path in paths:
        path.chmod(0o640)
    installed(client, where, record)
    assert all(path.read_bytes() != before[path] and path.stat().st_mode & 0o777 == 0o640 for path in paths)
    uninstalled(client, where, record)
    assert {path: path.read_bytes() for path in paths} == before


@CLIENTS
def test_a_second_installation_changes_nothing(client: str, where: Where, tmp_path: Path) -> None:
    """And doesn't lose what was there before the first."""
    record = ChangeRecord(tmp_path / "data", client)
    paths = [file.path for file in AGENTS[client].files(where, STATE, "command")]
    before = {path: existing(path) for path in paths}
    installed(client, where, record)
    assert all(change.is_none for change in plan_install(AGENTS[client], where, STATE).changes)
    installed(client, where, record, ServiceState({"port": "20002", "key": "gk_other_secret"}))
    uninstalled(client, where, record)
    assert {path: path.read_bytes() for path in paths} == before


@CLIENTS
def test_what_others_wrote_since_stays(client: str, where: Where, tmp_path: Path) -> None:
    """Only what is germane's is taken out, and that is said."""
    record = ChangeRecord(tmp_path / "data", client)
    files = AGENTS[client].files(where, STATE, "command")
    for file in files:
        existing(file.path)
    installed(client, where, record)
    for file in files:
        text = file.path.read_text("utf-8")
        file.path.write_text(f"{text}\n[new]\nx = 1\n" if file.is_toml else text.replace('"dark"', '"light"'), "utf-8")
    plan = uninstalled(client, where, record)
    assert len(plan.remarks) == len(files)
    for file in files:
        left = file.path.read_text("utf-8")
        assert "germane" not in left
        assert "mine" in left
        assert "x = 1" in left or '"light"' in left
        assert (tomllib.loads(left) if file.is_toml else read(left).data())["hooks"]["Stop"]


@CLIENTS
def test_without_a_record_it_comes_out_too(client: str, where: Where, tmp_path: Path) -> None:
    """As where the folder with what is remembered was deleted."""
    before = {file.path: existing(file.path) for file in AGENTS[client].files(where, STATE, "command")}
    installed(client, where, ChangeRecord(tmp_path / "data", client))
    uninstalled(client, where, ChangeRecord(tmp_path / "other", client))
    for path, data in before.items():
        assert "germane" not in path.read_text("utf-8")
        read_data = tomllib.loads if path.suffix == ".toml" else lambda text: read(text).data()
        assert read_data(path.read_text("utf-8")) == read_data(data.decode())


@pytest.mark.parametrize(
    "broken", [b"{", b"\xff{}", b'{"hooks": []}', b'{"mcpServers": 7}', b"[]", b'{"hooks": {"SessionStart": 1}}']
)
def test_what_cant_be_read_is_left_alone(broken: bytes, where: Where) -> None:
    """The error names the file."""
    path = where.home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(broken)
    with pytest.raises(InvalidInput, match=r"settings\.json"):
        plan_install(AGENTS["gemini"], where, STATE)
    assert path.read_bytes() == broken


def test_an_entry_of_the_same_name_is_left_alone(where: Where) -> None:
    """A person may have made one; the error says what to do."""
    path = where.home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"germane": {"command": "germane", "args": ["mcp"]}}}')
    with pytest.raises(InvalidInput, match="of your own"):
        plan_install(AGENTS["cursor"], where, STATE)


def test_an_entry_of_an_earlier_version_is_replaced(where: Where, tmp_path: Path) -> None:
    """It is known by what it calls, whatever else is written in it."""
    settings = where.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    old = {"type": "http", "url": "http://127.0.0.1:1/hooks/claude-code", "headers": {"Authorization": "Bearer old"}}
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [old]}], "Gone": [{"matcher": "*", "hooks": [old]}]}}))
    installed("claude-code", where, ChangeRecord(tmp_path / "data", "claude-code"))
    hooks = json.loads(settings.read_text())["hooks"]
    assert "Gone" not in hooks
    assert len(hooks["Stop"]) == 1
    assert "old" not in settings.read_text()


def test_the_key_is_written_only_where_nobody_else_reads_it(where: Where, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the hooks run a command; the person may choose."""
    settings = where.home / ".claude" / "settings.json"
    settings.parent.mkdir(mode=0o755)
    settings.write_text("{}")
    settings.chmod(0o644)
    assert is_private(settings)
    assert "gk_abc" in written(plan_install(AGENTS["claude-code"], where, STATE))
    where.home.chmod(0o755)
    for folder in where.home.parents:
        if folder.stat().st_uid == os.getuid() and not folder.stat().st_mode & 0o011:
            monkeypatch.setattr("germane.service.clients.install.is_private", lambda path: False)
    plan = plan_install(AGENTS["claude-code"], where, STATE)
    assert plan.kind == "command"
    assert plan.remarks
    assert "gk_abc" not in written(plan)
    assert "gk_abc" in written(plan_install(AGENTS["claude-code"], where, STATE, "http"))


def written(plan: Plan) -> str:
    return "".join((change.after or b"").decode() for change in plan.changes)


def test_the_change_is_shown_without_the_key(where: Where) -> None:
    """A screen is copied into bug reports."""
    shown = "".join(change.shown() for change in plan_install(AGENTS["claude-code"], where, STATE).changes)
    assert "127.0.0.1:20001" in shown
    assert "secret" not in shown


def test_a_link_is_followed_and_a_file_that_changed_meanwhile_is_not_overwritten(where: Where, tmp_path: Path) -> None:
    """Settings are often links into a folder with version control."""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    link = where.home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    (change,) = plan_install(AGENTS["cursor"], where, STATE).changes
    change.make()
    assert link.is_symlink()
    assert "germane" in real.read_text()
    with pytest.raises(InvalidInput, match="changed meanwhile"):
        change.make()


def test_hooks_of_codex_stand_where_the_others_are(where: Where, tmp_path: Path) -> None:
    """Codex warns where a folder has hooks in two files."""
    apart = where.home / ".codex" / "hooks.json"
    apart.parent.mkdir()
    apart.write_text('{"hooks": {}}')
    installed("codex", where, ChangeRecord(tmp_path / "data", "codex"))
    assert "UserPromptSubmit" in json.loads(apart.read_text())["hooks"]
    assert "hooks" not in tomllib.loads((apart.parent / "config.toml").read_text())


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini"])
def test_a_hook_ends_with_0_though_nothing_of_it_is_there(client: str, where: Where) -> None:
    """Python exits with 2 for a missing program, which would stop every prompt."""
    commands = [
        hook["command"]
        for file in AGENTS[client].files(where, STATE, "command")
        for entry in file.entries
        if entry.each
        for hook in entry.value["hooks"]
    ]
    assert commands
    assert all(command.endswith("|| exit 0") and "/opt/python" in command for command in commands)


@given(st.binary(max_size=60), st.binary(max_size=60))
@examples(400)
def test_a_change_is_taken_back_to_the_byte(before: bytes, after: bytes) -> None:
    """Whatever the two versions are; another version isn't touched."""
    change = FileChange(path=Path("/x"), before=before, after=after)
    known = made_change(change)
    back = known.undone(after)
    assert back is not None
    assert back.after == before
    assert known.undone(after + b"x") is None
