"""`--server`: commands print over a server what they print of the file, and say what to do where they can't."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from germane.cli import main
from germane.cli.app import COMMANDS, OF_THE_FILE
from germane.cli.served_grpc import server_address
from germane.errors import InvalidInput
from germane.sync import Germane
from support.loopback import unused_port
from support.served_file import served_file
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("HTTP-1")

Run = Callable[..., str]
TALK = [
    {"role": "user", "content": "My flight to Lisbon leaves on 4 June", "id": "m1", "created_at": "2025-05-01T09:00:00Z"},
    {"role": "assistant", "content": "Have a good trip", "id": "m2", "created_at": "2025-05-01T09:01:00Z"},
    {"role": "user", "content": "ask again " * 1000, "id": "m3", "created_at": "2025-05-01T09:02:00Z"},
]
LONG = [{"role": ("user", "assistant")[turn % 2], "content": f"The parcel {turn} is late. " * 30} for turn in range(40)]
AT = ("--at", "2099-01-01")
LOOKS = [
    ("search", "Lisbon", *AT),
    ("search", "warehouse", *AT),
    ("about", *AT),
    ("about", "Bob", *AT),
    ("list",),
    ("list", "--all", "--kind", "fact"),
    ("show", "m1"),
    ("show", "HANDLE"),
    ("messages",),
    ("messages", "s1", "--limit", "1"),
    ("sessions",),
    ("outline", "s1"),
    ("stats",),
    ("agents",),
    ("review",),
    ("consolidate", "--max-memories", "1", "--dry-run"),
    ("extract", "--dry-run"),
    ("digest", "Which city?", *AT),
    ("profile", *AT),
    ("profile", "--all", "--tokens", "10", *AT),
    ("directive",),
    ("documents",),
    ("documents", "doc.md"),
    ("block", "list"),
    ("block", "show", "persona"),
    ("block", "versions", "persona"),
    ("block", "search", "vase"),
    ("block", "consents"),
    ("event", "highlights"),
    ("entity", "list"),
    ("entity", "show", "Bob"),
    ("entity", "path", "Bob", "Rome"),
    ("task", "show"),
    ("task", "list"),
    ("forget", "--tag", "post", "--dry-run"),
    ("forget", "--key", "unknown", "--dry-run"),
    ("build", "--query", "Which city?"),
    ("build", "--query", "Which city?", "--model", "claude-opus-4-8"),
]
WRONG = [
    ("show", "ffff0000"),
    ("show", "hffffffffffff"),
    ("list", "--cursor", "none"),
    ("block", "delete", "persona"),
    ("entity", "show", "Nobody"),
    ("feedback", "unknown"),
    ("profile", "pin", "ffff0000"),
    ("digest", "Which city?", "--strategy", "none"),
    ("extract",),
]


class Told:
    """What one command did: its exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


Command = Callable[..., Told]


@pytest.fixture(scope="module", params=["grpc", "http"])
def kind(request: pytest.FixtureRequest) -> str:
    """What the server speaks."""
    return str(request.param)


@pytest.fixture(scope="module")
def place(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A store with some of everything, and a server over it: `db`, `server`, and the `handle` of what left a conversation."""
    folder = tmp_path_factory.mktemp("served")
    db, (talk, long, doc) = folder / "germane.db", (folder / name for name in ("talk.json", "long.json", "doc.md"))
    talk.write_text(json.dumps(TALK))
    long.write_text(json.dumps(LONG))
    doc.write_text("# Hours\n\nThe warehouse opens at seven.\n")
    with Germane.open(db, freeze=False) as germane:
        germane.agent().directive("Be kind.")
        agent = germane.agent(user="ada")
        agent.remember("Prefers letters", kind="preference", pinned=True, tags=["post"])
        for city in ("Vienna", "Graz"):
            agent.remember(kind="fact", key="city", value=city)
        agent.record(TALK, session="s1")
        agent.blocks.create("persona", text="I answer.")
        agent.blocks.archive("The vase is blue")
        agent.events.record("decision", "use SQLite", session="s1")
        agent.graph.add("person", "Bob")
        agent.graph.add("place", "Rome")
        agent.graph.relate("Bob", "lives_in", "Rome")
        agent.tasks.push("Ship it", session="default")
        agent.documents.ingest(doc)
        handle = agent.conversations.compact(LONG, session="c1", model="gpt-4o", max_tokens=1500, deadline=None).cited[0]
    with served_file(db, http=kind == "http") as server:
        yield {"db": str(db), "server": server, "handle": handle, "folder": str(folder)}


@pytest.fixture
def command(place: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command as ada, of the file or over the server."""
    monkeypatch.chdir(place["folder"])
    for name in ("GERMANE_DB", "GERMANE_SERVER", "GERMANE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, of: str) -> Told:
        named = [place["handle"] if word == "HANDLE" else word for word in words]
        code = main([*named, f"--{of}", place[of], "--user", "ada"])
        return Told(code, *capsys.readouterr())

    return run


@pytest.mark.parametrize("json_too", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_a_command_prints_the_same_over_a_server(words: tuple[str, ...], json_too: tuple[str, ...], command: Command) -> None:
    """To the byte, as text and as JSON; blocks of a built request apart, of which a server sends a summary."""
    here, there = (command(*words, *json_too, of=of) for of in ("db", "server"))
    assert (there.code, there.err) == (here.code, here.err) == (0, here.err)
    assert there.out == here.out


@pytest.mark.parametrize("words", WRONG, ids=" ".join)
def test_what_is_refused_is_refused_with_the_same_exit_code(words: tuple[str, ...], command: Command) -> None:
    here, there = (command(*words, of=of) for of in ("db", "server"))
    assert here.code == there.code > 0
    assert there.err.startswith("germane: ")
    assert "fault of germane" not in there.err


def test_an_assembly_over_a_server_has_the_messages_and_the_reasons(command: Command, kind: str) -> None:
    """The messages and the figures are in the answer; the trace is text, and one thing's reason can be asked for."""
    here, there = (json.loads(command("assemble", "--query", "Which city?", "--json", of=of).out) for of in ("db", "server"))
    assert there["messages"] == here["messages"]
    assert there["metadata"]["memory_ids"] == here["metadata"]["memory_ids"] == [item["id"] for item in here["items"]]
    assert "items" not in there
    explained = command("explain", "--query", "Which city?", of="server")
    if kind == "grpc":
        assert "in   #" in explained.out
    else:
        assert (explained.code, "give grpc://HOST:PORT" in explained.err) == (2, True)
    why = [command("explain", "--query", "Which city?", "--why", here["items"][0]["id"], of=of).out for of in ("db", "server")]
    assert why[0] == why[1]
    refused = command("explain", "--query", "Which city?", "--all", of="server")
    assert (refused.code, "stays on the server" in refused.err) == (2, True)


def test_a_server_stores_changes_and_forgets_what_a_file_does(command: Command, place: dict[str, str]) -> None:
    """A memory's whole life, a conversation, a folder of documents."""
    made = command("remember", "--kind", "fact", "--key", "floor", "--value", '{"number": 4}', "--json", of="server")
    memory = json.loads(made.out)
    shown = json.loads(command("show", memory["id"], "--json", of="db").out)
    assert memory == {name: value for name, value in shown.items() if name != "versions"}
    assert memory["value"] == {"number": 4}
    assert "tags         home" in command("update", memory["id"], "--tag", "home", of="server").out
    assert command("feedback", memory["id"], of="server").out == "marked 1 as helpful\n"
    said = command("record", "talk.json", "--session", "s2", of="server").out
    assert said.startswith("recorded 3 messages in session s2, 0 were")
    for of in ("db", "server"):  # the same source, so that it is unchanged
        assert "1 document unchanged" in command("ingest", "doc.md", of=of).out
    compacted = command("compact", "long.json", "--max-tokens", "1500", "--session", "c2", "--json", of="server")
    assert (json.loads(compacted.out)["fits"], compacted.code) == (True, 0)
    for expected in ("forgot 1 memories", "nothing matches: there is nothing to forget"):
        assert expected in command("forget", memory["id"], "--yes", of="server").out
    assert json.loads(command("forget", memory["id"], "--yes", "--json", of="server").out)["scrubbed"] is True


def test_an_audit_finds_the_same_over_a_server(command: Command) -> None:
    """Its exit code says too that two memories contradict each other."""
    for json_too in ((), ("--json",)):
        here, there = (command("audit", "--unused-days", "0", *json_too, of=of) for of in ("db", "server"))
        assert (there.code, there.out, there.err) == (here.code, here.out, here.err)
        assert there.code == 1


def test_what_a_profile_shows_can_be_changed_over_a_server(command: Command) -> None:
    """And what a budget leaves goes for good, after a yes."""
    for of in ("server", "db"):
        line = json.loads(command("profile", "--json", of=of).out)["lines"][0]["id"]
        assert command("profile", "hide", line, of=of).out.startswith("hidden")
        assert line not in command("profile", "--json", of=of).out
        assert command("profile", "clear", line, of=of).code == 0
        assert line in command("profile", "--json", of=of).out
    unasked = command("consolidate", "--max-memories", "0", of="server")
    assert (unasked.code, "pass --yes" in unasked.err) == (2, True)
    told = json.loads(command("consolidate", "--max-memories", "1000", "--yes", "--json", of="server").out)
    assert told["before"] == told["after"]


def test_the_page_of_the_command_names_what_needs_the_file() -> None:
    """All of it, in the words of the first of the differences."""
    page = (ROOT / "docs" / "use" / "cli.md").read_text("utf-8")
    (sentence,) = re.findall(r"^- ([^.]*) need the file, and\s+say so\.", page, re.MULTILINE)
    assert sorted(re.findall(r"`([a-z]+)`", sentence)) == sorted(OF_THE_FILE)


def test_every_other_command_says_that_it_needs_the_file(command: Command) -> None:
    """Before it asks or reads anything; its help is printed all the same."""
    assert COMMANDS.keys() >= OF_THE_FILE
    for name in sorted(OF_THE_FILE):
        refused = command(name, of="server")
        assert refused.code == 2
        assert refused.err.startswith(f"germane: {name} needs the store's file: run it where the file is")
    assert command("doctor", "--help", of="server").code == 0


def test_the_start_page_names_the_server(command: Command, place: dict[str, str]) -> None:
    assert f"The store is {place['server']}: germane stats tells" in command(of="server").out


@pytest.mark.parametrize("http", [False, True], ids=["grpc", "http"])
def test_a_key_opens_what_it_allows(http: bool, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the environment or a file. Without one, with a wrong one, or without the right: exit code 3, and what to do."""
    db = tmp_path / "germane.db"
    tokens = {right: run("keys", "create", "--rights", right).strip() for right in ("read", "write")}
    Path("key").write_text(tokens["write"] + "\n")
    Path("empty").write_text("\n")
    with served_file(db, keys=True, http=http) as server:
        monkeypatch.setenv("GERMANE_SERVER", server)
        assert "needs an API key (set GERMANE_API_KEY or give --key-file" in run("list", expect=3)
        assert "recorded 3" in run("record", "-", "--key-file", "key", stdin=json.dumps(TALK))
        assert "doesn't allow this for org default and agent default" in run("messages", "--key-file", "key", expect=3)
        monkeypatch.setenv("GERMANE_API_KEY", tokens["read"])
        assert "Lisbon" in run("messages")
        assert "doesn't allow this" in run("remember", "Likes tea", expect=3)
        assert "doesn't allow this for org acme" in run("list", "--org", "acme", expect=3)
        monkeypatch.setenv("GERMANE_API_KEY", "gk_none")
        assert "doesn't take the API key" in run("list", expect=3)
        assert "doesn't take the API key" in run("assemble", "--query", "Lisbon?", expect=3)
        assert "must hold the API key alone" in run("list", "--key-file", "empty", expect=2)
        assert "can't be read" in run("list", "--key-file", "missing", expect=2)
        assert "keep the store" not in run("doctor", "--db", str(db))  # an option goes before the variable


@pytest.mark.parametrize("scheme", ["", "http://"])
def test_nobody_there_is_an_unusable_store(scheme: str, run: Run) -> None:
    server = f"{scheme}127.0.0.1:{unused_port()}"
    for words in (("list",), ("assemble", "--query", "tea"), ("remember", "tea")):
        said = run(*words, "--server", server, expect=3)
        assert f"no answer from the server at {server} (correct --server" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--server", "h:1", "--db", "x.db"), "give one of the two"),
        (("--server", "h:1", "--embedder", "static"), "--embedder belongs to the process"),
        (("--server", "ftp://h:1"), "must be HOST:PORT"),
        (("--key-file", "key"), "name it with --server"),
    ],
)
def test_what_excludes_a_server_is_named(words: tuple[str, ...], said: str, run: Run) -> None:
    assert said in run("list", *words, expect=2)


def test_a_file_and_a_server_in_the_environment_need_an_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GERMANE_DB", "x.db")
    monkeypatch.setenv("GERMANE_SERVER", "127.0.0.1:1")
    assert "both set: give --db or --server" in run("list", expect=2)
    assert "no database at x.db" in run("list", "--db", "x.db", expect=3)
    assert "no answer" in run("list", "--server", "127.0.0.1:1", expect=3)


def test_a_key_isnt_sent_in_the_clear(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GERMANE_API_KEY", "gk_secret")
    said = run("list", "--server", "germane.example:7411", expect=2)
    assert "give grpcs://germane.example:7411" in said
    assert "gk_secret" not in said
    said = run("list", "--server", "http://germane.example:7412", expect=2)
    assert said.startswith("germane: --server 'http://germane.example:7412' isn't this machine")
    assert ("give https://" in said, "plaintext" in said, "gk_secret" in said) == (True, False, False)
    assert "--server must be a web address" in run("list", "--server", "https://", expect=2)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("127.0.0.1:7411", ("127.0.0.1:7411", False)),
        ("grpc://[::1]:7411/", ("[::1]:7411", False)),
        (" GRPCS://germane.example:443 ", ("germane.example:443", True)),
    ],
)
def test_an_address_says_whether_it_uses_tls(given: str, found: tuple[str, bool]) -> None:
    assert server_address(given) == found


@pytest.mark.parametrize("given", ["", "grpc://", "grpcs://h:1/path", "ftp://h:1"])
def test_another_address_is_refused(given: str) -> None:
    with pytest.raises(InvalidInput, match="--server"):
        server_address(given)


def test_a_local_command_loads_no_client(tmp_path: Path) -> None:
    """The client costs a command of a file nothing."""
    import subprocess
    import sys

    program = (
        "import sys; from germane.cli import main; main(['directive', 'Be kind.']); print({'grpc', 'aiohttp'} & {*sys.modules})"
    )
    ran: Any = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "set()"
