"""`germane keys` end to end: printed once, listed without secrets, revoked for good."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from germane.cli import main
from germane.cli.app import hoist
from germane.kinds.keys.value import Grant
from germane.sync import Germane


class Done(NamedTuple):
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `germane …` in an empty folder; `expect` is the exit code."""
    monkeypatch.chdir(tmp_path)
    for name in ("GERMANE_DB", "GERMANE_EMBEDDER", "GERMANE_NONCE_KEY", "GERMANE_SETTINGS"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str, expect: int = 0) -> Done:
        code = main(list(arguments))
        done = Done(*capsys.readouterr())
        assert code == expect, done.err
        return done

    return command


def opens(token: str) -> Grant | None:
    with Germane.open("germane.db", freeze=False) as germane:
        return germane.keys.verify(token)


@pytest.mark.requirement("RPC-5")
def test_a_key_is_printed_once_and_opens_its_org(run: Run) -> None:
    """Standard output has only the key, so that it can be piped; the notice is on stderr."""
    made = run("keys", "create", "--org", "acme", "--agent", "support", "--agent", "sales", "--rights", "read")
    token = made.out.rstrip("\n")
    assert "can't be shown again" in made.err
    assert token not in made.err
    grant = opens(token)
    assert grant is not None
    assert (grant.org, grant.agents, grant.rights) == ("acme", ("support", "sales"), ("read",))
    secret = token.rpartition("_")[2]
    for again in (run("keys", "list"), run("keys", "list", "--json"), run("doctor"), run("export")):
        assert secret not in again.out + again.err


@pytest.mark.requirement("RPC-5")
def test_a_rotation_overlaps_and_takes_over_what_isnt_said(run: Run) -> None:
    """Both keys are valid; the old one expires after the overlap."""
    old = run("keys", "create", "--org", "acme", "--agent", "support", "--note", "gateway", "--expires", "90d", "--json").json
    new = run("keys", "create", "--org", "acme", "--replaces", old["id"], "--overlap", "30m", "--json").json
    assert (new["agents"], new["rights"], new["note"]) == (["support"], ["read", "write"], "gateway")
    made, ends = (datetime.fromisoformat(new[name]) for name in ("created_at", "expires_at"))
    assert ends - made == timedelta(days=90)
    listed = {key["id"]: key for key in run("keys", "list", "--json").json["keys"]}
    assert datetime.fromisoformat(listed[old["id"]]["expires_at"]) == made + timedelta(minutes=30)
    assert [listed[key["id"]]["state"] for key in (old, new)] == ["ending", "active"]
    assert all("token" not in key and "digest" not in key for key in listed.values())
    assert opens(old["token"])
    assert opens(new["token"])
    run("keys", "create", "--org", "acme", "--replaces", old["id"], expect=2)
    run("keys", "create", "--org", "other", "--replaces", new["id"], expect=1)


@pytest.mark.requirement("RPC-5")
def test_a_key_is_revoked_by_its_id_or_by_itself(run: Run) -> None:
    """Revoking is idempotent; the error for an unknown key doesn't print the key."""
    token = run("keys", "create").out.strip()
    id = token.split("_")[1]
    first = run("keys", "revoke", id, "--json").json
    assert (first["state"], first["org"]) == ("revoked", "default")
    assert run("keys", "revoke", token, "--json").json == first
    assert "is revoked since" in run("keys", "revoke", id).out
    assert opens(token) is None
    wrong = "gk_" + "z" * 60
    failed = run("keys", "revoke", wrong, expect=1)
    assert "no key with this id" in failed.err
    assert wrong not in failed.err


@pytest.mark.requirement("RPC-5")
def test_keys_are_listed_of_all_orgs_or_of_one(run: Run) -> None:
    """The org may be named before the command too, as everywhere."""
    for org in ("acme", "other"):
        run("keys", "create", "--org", org)
    orgs = [key["org"] for key in run("keys", "list", "--json").json["keys"]]
    assert sorted(orgs) == ["acme", "other"]
    for arguments in (["keys", "list", "--org", "acme"], ["--org", "acme", "keys", "list"], ["keys", "list", "--org=acme"]):
        assert [key["org"] for key in run(*arguments, "--json").json["keys"]] == ["acme"]
    assert "acme" in run("keys", "list").out
    assert "no keys of org nobody" in run("keys", "list", "--org", "nobody").out
    assert run("--org", "third", "keys", "create", "--json").json["org"] == "third"


def test_a_note_is_shown_as_text(run: Run) -> None:
    """Markup isn't interpreted, control characters are escaped."""
    run("keys", "create", "--note", "[red]\u202eAna")
    assert "[red]\\u202eAna" in " ".join(run("keys", "list").out.split())


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["create", "--expires", "90"], 2, "a number needs a unit"),
        (["create", "--expires", "0s"], 2, "lifetime must be at least 1 s"),
        (["create", "--overlap", "1h"], 2, "--replaces"),
        (["create", "--rights", "all"], 2, "--rights"),
        (["create", "--agent", ""], 2, "agent must have"),
        (["create", "--org", ""], 2, "org must have"),
        (["create", "--replaces", "nope"], 1, "no key with this id"),
        (["list", "--db", "none.db"], 3, "none.db"),
        (["revoke", "x", "--db", "none.db"], 3, "none.db"),
        (["revoke"], 2, "ID"),
        (["fly"], 2, "fly"),
    ],
)
def test_bad_usage_of_keys_is_one_line(run: Run, arguments: list[str], code: int, said: str) -> None:
    """What is wrong, and what to do."""
    failed = run("keys", *arguments, expect=code)
    assert failed.out == ""
    assert failed.err.startswith("germane: ")
    assert failed.err.count("\n") == 1
    assert said in failed.err


def test_org_and_agent_behind_keys_are_its_own() -> None:
    """Before `keys` they are global options; the other global options move to the front."""
    arguments = ["keys", "create", "--agent", "a", "--agent", "b", "--db", "x.db"]
    assert hoist(arguments) == ["--db", "x.db", "keys", "create", "--agent", "a", "--agent", "b"]
    assert hoist(["search", "keys", "--agent", "a"]) == ["--agent", "a", "search", "keys"]


def test_without_a_verb_help_is_shown(run: Run) -> None:
    """The help lists the three verbs."""
    shown = run("keys").out
    assert all(verb in shown for verb in ("create", "list", "revoke"))
