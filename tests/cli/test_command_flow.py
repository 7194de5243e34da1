"""The command end to end, in process, against a real store: what a person does in the order a person does it."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from germane.api import wiring
from germane.cli import main
from germane.errors import LLMError
from germane.service.proxy.spool import Spool, spool_finding
from germane.stores.sqlite import erasure
from support.scripted_llm import ScriptedLLM, entry, listed

TALK = [
    {"role": "user", "content": "My flight to Lisbon leaves on 4 June", "id": "m1", "created_at": "2025-05-01T09:00:00Z"},
    {"role": "assistant", "content": "Have a good trip", "id": "m2", "created_at": "2025-05-01T09:01:00Z"},
]
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in an empty folder with `stdin`; `expect` is the exit code. Returns stdout, or stderr of a failure."""
    monkeypatch.chdir(tmp_path)
    for name in ("GERMANE_DB", "GERMANE_EMBEDDER", "GERMANE_LLM", "GERMANE_NONCE_KEY", "GERMANE_SETTINGS"):
        monkeypatch.delenv(name, raising=False)

    def command(*arguments: str, expect: int = 0, stdin: str = "") -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "surrogatepass")), encoding="utf-8"))
        code = main(list(arguments))
        out, err = capsys.readouterr()
        assert code == expect, err
        assert "Traceback" not in err
        return out if expect == 0 else err

    return command


def parsed(text: str) -> Any:
    return json.loads(text)


@pytest.mark.requirement("CLI-1")
def test_what_is_remembered_is_found_injected_and_forgotten(run: Run) -> None:
    """Remember, search, assemble, feedback, forget: one memory's whole life."""
    memory = parsed(run("remember", "--kind", "fact", "--key", "city", "--value", "Vienna", "--json"))
    assert (memory["kind"], memory["key"], memory["value"]) == ("fact", "city", "Vienna")
    hits = parsed(run("search", "city", "--json"))["hits"]
    assert [hit["id"] for hit in hits] == [memory["id"]]
    context = parsed(run("assemble", "--query", "Which city?", "--json"))
    assert "Vienna" in context["messages"][0]["content"]
    assert context["messages"][-1] == {"role": "user", "content": "Which city?"}
    assert context["items"][0]["id"] == memory["id"]
    assert parsed(run("feedback", memory["id"], "--json")) == {"marked": 1, "helpful": True}
    assert parsed(run("forget", memory["id"], "--yes", "--json"))["memory_ids"] == [memory["id"]]
    assert parsed(run("search", "city", "--json"))["hits"] == []


@pytest.mark.requirement("CLI-1")
def test_recording_twice_adds_nothing(run: Run) -> None:
    """`record` reads messages from standard input and knows what it has."""
    first = parsed(run("record", "-", "--session", "s1", "--json", stdin=json.dumps(TALK)))
    again = parsed(run("record", "-", "--session", "s1", "--json", stdin=json.dumps(TALK)))
    assert (len(first["added"]), again["added"], again["skipped"]) == (2, [], 2)


@pytest.mark.requirement("MEM-7")
def test_secrets_that_were_found_are_told_in_a_line(run: Run) -> None:
    """By `record`, `remember` and `import`; `--secrets` chooses what happens to them."""
    key = "AKIA" + "Q3EGVCFDTZ7XN2LM"
    talk = json.dumps([{"role": "user", "content": f"use {key}"}, {"role": "user", "content": f"my pin is 4711, {key}"}])
    assert run("record", "-", "--session", "s1", stdin=talk).splitlines()[1] == "3 secrets found: 2 × AWS access key, PIN"
    assert parsed(run("record", "-", "--session", "s2", "--json", stdin=talk))["secrets"] == {"AWS access key": 2, "PIN": 1}
    assert "[redacted: PIN]\n1 secret found: PIN" in run("remember", "the pin is 4711")
    assert parsed(run("remember", "the pin is 4711", "--json"))["secrets"] == {"PIN": 1}
    assert "3 secrets found: 2 × AWS access key, PIN" in run("import", "-", stdin=talk)
    assert key in run("remember", f"use {key}", "--secrets", "off")


def test_the_users_things_are_not_the_agents(run: Run) -> None:
    """`--user` limits what is stored and what is found to that user."""
    run("remember", "Likes tea", "--user", "ada")
    assert run("search", "tea", "--user", "bob").splitlines()[0] == "nothing found"
    assert "Likes tea" in run("--user", "ada", "search", "tea")


@pytest.mark.requirement("CLI-1")
def test_an_export_imports_into_another_store_and_again_into_the_same(run: Run) -> None:
    """The round trip keeps messages, memories with their history, and the directive; the second time adds nothing."""
    run("directive", "Be brief")
    run("remember", "--kind", "fact", "--key", "city", "--value", "Vienna")
    run("remember", "--kind", "fact", "--key", "city", "--value", "Linz")
    run("remember", "Dogs are fine", "--kind", "preference", "--tag", "pets")
    run("record", "-", "--session", "s1", stdin=json.dumps(TALK))
    run("record", "-", "--session", "s2", stdin=json.dumps([{"role": "user", "content": "ok"}] * 2))
    lines = run("export")
    assert "nonce" not in lines
    for db in ("other.db", "germane.db"):
        (tally,) = parsed(run("import", "-", "--db", db, "--json", stdin=lines))["files"]
        assert tally["broken"] == 0
        assert tally["messages"] + tally["memories"] == (7 if db == "other.db" else 0)
    mine, theirs = (sorted(map(_essence, run("export", "--db", db).splitlines())) for db in ("germane.db", "other.db"))
    assert mine == theirs


def _essence(line: str) -> str:
    kept = (
        "type",
        "kind",
        "key",
        "value",
        "body",
        "text",
        "tags",
        "role",
        "content",
        "session",
        "id",
        "created_at",
        "valid_to",
    )
    found = json.loads(line)
    if found["type"] == "memory":
        found |= {"id": None, "created_at": None}
    return json.dumps({name: found.get(name) for name in kept}, sort_keys=True)


def test_what_is_agent_wide_stays_so_through_a_users_export(run: Run) -> None:
    """A user's export holds what that user sees; importing it doesn't make a private copy of what is shared."""
    run("remember", "Office closes at five")
    run("record", "-", "--session", "s1", stdin=json.dumps(TALK))
    lines = run("export", "--user", "ada")
    (tally,) = parsed(run("import", "-", "--user", "ada", "--json", stdin=lines))["files"]
    assert (tally["messages"], tally["memories"], tally["already_there"]) == (0, 0, 3)


def test_rows_that_cannot_be_used_are_counted_and_told(run: Run, tmp_path: Path) -> None:
    """A broken line or a conflicting id is skipped; the other rows are imported."""
    lines = [json.dumps(TALK[0]), "{oops", json.dumps(TALK[0] | {"content": "other words"}), json.dumps(TALK[1])]
    (tmp_path / "talk.jsonl").write_text("\n".join(lines))
    (tally,) = parsed(run("import", "talk.jsonl", "--json"))["files"]
    assert (tally["messages"], tally["broken"]) == (2, 2)
    assert any("line 2" in reason for reason in tally["reasons"])
    assert any("m1" in reason for reason in tally["reasons"])


def test_system_messages_are_counted_apart(run: Run) -> None:
    """They are instructions, not conversation: not kept, and not called known."""
    talk = [{"role": "system", "content": "Be nice"}, *TALK]
    assert "1 system messages" in run("import", "-", stdin=json.dumps(talk))


def test_a_saved_explanation_is_shown_again_to_the_letter(run: Run) -> None:
    """`explain --save-trace` and `explain --trace` print the same."""
    run("remember", "Ingrid leads the volunteers", "--kind", "note")
    first = run("explain", "--query", "Who leads the volunteers?", "--save-trace", "t.json")
    assert "chosen" in first
    assert run("explain", "--trace", "t.json") == first
    assert parsed(run("explain", "--trace", "t.json", "--json"))["format"] == "germane-trace"


@pytest.mark.requirement("ENGINE-5")
def test_what_is_not_worth_reading_is_counted_and_read_on_request(run: Run, tmp_path: Path) -> None:
    """`--all` reads it, as long as it is there; a saved trace knows the ids alone."""
    talk = [{"role": "user", "content": f"Ana was in the garden for {number} hours and found it nice"} for number in range(90)]
    talk.append({"role": "user", "content": "Ana found a violin teacher in Lisbon, Marta Sousa"})
    (tmp_path / "talk.json").write_text(json.dumps(talk))
    run("import", "talk.json", "--session", "s")
    asked = ("explain", "--query", "Which violin teacher did Ana find in Lisbon?")
    shown = run(*asked, "--save-trace", "t.json")
    unread = parsed(run("explain", "--trace", "t.json", "--json"))["trace"]["unread"]
    assert f"{len(unread)} more found that can't be worth their tokens" in shown
    everything = run(*asked, "--all")
    assert everything.count("garden") >= len(unread) > 10
    saved = run("explain", "--trace", "t.json", "--all")
    assert all(id[:30] in saved for id, *_ in unread)


def test_assembling_waits_for_every_source(run: Run) -> None:
    """A person at a terminal has no deadline: no source is late."""
    run("remember", "Ingrid leads the volunteers")
    sources = parsed(run("assemble", "--query", "Who leads?", "--json"))["metadata"]["sources"]
    assert {source["status"] for source in sources} <= {"ok", "skipped"}


def test_tools_and_messages_come_from_a_whole_request(run: Run, tmp_path: Path) -> None:
    """`{"messages": […], "tools": […]}` is read as a request is sent; tools cost tokens."""
    tool = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}
    run("remember", "x is y")
    (tmp_path / "request.json").write_text(json.dumps({"messages": [{"role": "user", "content": "x?"}], "tools": [tool]}))
    assert parsed(run("explain", "request.json", "--json"))["trace"]["budget"]["tools"] > 0


def test_an_unknown_model_is_told_in_a_note(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """The assembly works, with a small context window, and prints a note."""
    run("remember", "x is y")
    assert main(["assemble", "--query", "x?", "--model", "no-such-model"]) == 0
    assert "no-such-model" in capsys.readouterr().err


def test_forgetting_asks_first(run: Run) -> None:
    """Without --yes and without a terminal nothing is erased; --dry-run counts what would be."""
    run("remember", "Likes tea", "--tag", "drinks")
    assert "pass --yes" in run("forget", "--tag", "drinks", expect=2)
    assert "would forget 1 memories" in run("forget", "--tag", "drinks", "--dry-run")
    assert "forgot 1 memories" in run("forget", "--tag", "drinks", "--yes")
    assert "nothing to forget" in run("forget", "--tag", "drinks", "--yes")


def test_forgetting_counts_things_of_every_kind(run: Run) -> None:
    """The question, the dry run and the JSON say of tasks and entities as of memories what goes."""
    run("remember", "Likes tea")
    run("task", "push", "Plan the tour", "--session", "s1")
    run("entity", "add", "person", "Anna Berg")
    counted = "1 memories, 1 entities, relations and patterns, 1 tasks"
    assert f"pass --yes to forget {counted}" in " ".join(run("forget", "--everything", expect=2).split())
    assert f"would forget {counted}" in run("forget", "--everything", "--dry-run")
    would = parsed(run("forget", "--everything", "--dry-run", "--json"))
    assert (len(would["graph_ids"]), len(would["task_ids"]), would["block_ids"]) == (1, 1, [])


@pytest.mark.requirement("MEM-3")
def test_forgetting_says_what_it_waits_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As text and as JSON; doctor and the same command again show whether the erasure is finished."""
    monkeypatch.setattr(erasure, "_TRIES", 1)
    run("remember", "Likes tea", "--tag", "drinks")
    with closing(apsw.Connection("germane.db")) as reader:
        reader.execute("BEGIN; SELECT count(*) FROM memories")
        said = " ".join(run("forget", "--tag", "drinks", "--yes").split())
        assert said.startswith("forgot 1 memories some of it is still left in the file")
        assert "waits for a reader that holds an older snapshot" in said
        assert parsed(run("forget", "--tag", "drinks", "--yes", "--json"))["scrubbed"] is False
        run("doctor", expect=1)
    assert parsed(run("forget", "--tag", "drinks", "--yes", "--json"))["scrubbed"] is True
    assert parsed(run("doctor", "--json"))["healthy"]


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
def test_an_export_is_its_owners_alone(run: Run) -> None:
    """A new file has mode 0600; an existing file keeps its mode."""
    run("remember", "Likes tea")
    Path("there.jsonl").touch()
    Path("there.jsonl").chmod(0o644)
    for name, mode in (("new.jsonl", 0o600), ("there.jsonl", 0o644)):
        run("export", name)
        assert Path(name).stat().st_mode & 0o777 == mode
        assert "Likes tea" in Path(name).read_text("utf-8")


def test_feedback_on_nothing_known_fails(run: Run) -> None:
    """Exit code 1: an id that doesn't exist and one of another scope give the same error."""
    run("remember", "x")
    assert "no memory" in run("feedback", "nope", expect=1)


@pytest.mark.requirement("CLI-1", "PROXY-1")
def test_the_doctor_says_what_waits_for_the_proxy(run: Run, tmp_path: Path) -> None:
    """How much it is, not what; an entry that is damaged isn't fine."""
    run("remember", "Likes tea")

    def told() -> list[tuple[str, bool]]:
        checks = parsed(run("doctor", "--json"))["checks"]
        return [(one["finding"], one["fine"]) for one in checks if one["name"] == "proxy"]

    assert told() == []
    spool = Spool(tmp_path / "germane.db-spool")
    spool.open(1_700_000_000_000)
    entries = [spool.put(b"said in private" * 200) for _ in range(3)]
    assert told() == [("3 turns wait in germane.db-spool to be recorded (8 KB)", True)]
    assert entries[0] is not None
    spool.set_aside(entries[0])
    run("doctor", expect=1)
    finding = spool_finding(tmp_path / "germane.db-spool")
    assert finding is not None
    assert finding[1].startswith("2 turns wait in germane.db-spool to be recorded (5 KB); 1 damaged")
    assert not finding[2]


@pytest.mark.requirement("CLI-1")
def test_a_backup_is_a_store_and_the_doctor_finds_it_well(run: Run) -> None:
    """The copy opens, is healthy and can be searched; it is overwritten with --overwrite only."""
    run("remember", "Likes tea")
    run("backup", "copy.db")
    assert parsed(run("doctor", "--db", "copy.db", "--json"))["healthy"]
    assert "Likes tea" in run("search", "tea", "--db", "copy.db")
    assert "exists" in run("backup", "copy.db", expect=2)
    run("backup", "copy.db", "--overwrite")
    assert parsed(run("reembed", "--json"))["reembedded"] == 0


@pytest.mark.parametrize("command", [["search", "x"], ["remember", "x"], ["doctor"], ["export"]])
def test_a_damaged_store_is_a_store_problem(run: Run, tmp_path: Path, command: list[str]) -> None:
    """Exit code 3 and one line."""
    (tmp_path / "germane.db").write_bytes(b"not a database at all" * 500)
    assert run(*command, expect=3).count("\n") == 1


def test_the_database_can_be_named_by_the_environment(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GERMANE_DB names the file; the demo doesn't use it."""
    monkeypatch.setenv("GERMANE_DB", str(tmp_path / "env.db"))
    run("demo", "--ask", "Who is Jonah?")
    assert not (tmp_path / "env.db").exists()
    run("remember", "x")
    assert (tmp_path / "env.db").exists()


@pytest.mark.requirement("DIG-3", "DIG-4", "CLI-1")
def test_a_digest_is_printed_as_it_stands_in_a_prompt(run: Run, tmp_path: Path) -> None:
    """Or why there is none; an agent.yml sets its budgets."""
    run("remember", "--kind", "fact", "--key", "city", "--value", "Vienna")
    assert ") city — Vienna (user, " in run("digest", "Which city?")
    assert run("digest", "Which city?", "--user", "ada", "--kind", "note") == "Memory digest: no matching memory\n"
    found = parsed(run("digest", "Which city?", "--json"))
    assert (found["status"], len(found["items"]), "Vienna" in found["text"]) == ("", 1, True)
    Path("agent.yml").write_text("memory:\n  v1:\n    enabled: false\n")
    assert run("digest", "Which city?", "--settings", "agent.yml") == "Memory digest: disabled by config\n"
    Path("agent.yml").write_text("memory: {v1: {x: 1}}")
    assert "memory.v1 takes" in run("digest", "Which city?", "--settings", "agent.yml", expect=2)


@pytest.mark.requirement("CLI-1", "MEM-4")
def test_a_contradiction_is_reviewed_and_resolved(run: Run) -> None:
    """Listed with both sides; a kept one ends the other."""
    one = parsed(run("remember", "The returns desk closes at 17:00", "--json"))
    two = parsed(run("remember", "The returns desk closes at 18:00", "--json"))
    assert "but for a number" in run("review")
    (conflict,) = parsed(run("review", "--json"))["conflicts"]
    assert (conflict["reason"], conflict["older"]["id"], conflict["newer"]["id"]) == ("number", one["id"], two["id"])
    assert "belong together" in run("review", "--resolve", conflict["id"], expect=2)
    assert "is none of" in run("review", "--resolve", conflict["id"], "--keep", "x", expect=2)
    assert two["id"] in run("review", "--resolve", conflict["id"], "--keep", two["id"])
    assert "nothing to review" in run("review")


@pytest.mark.requirement("CLI-1", "MEM-6")
def test_a_storage_budget_is_kept_after_a_question(run: Run) -> None:
    """Or with --yes; a dry run changes nothing."""
    for place in ("Leith", "Lisbon", "Bergen"):
        run("remember", f"Walked through {place}", "--kind", "episode")
    assert "asks first" in run("consolidate", "--max-memories", "1", expect=2)
    assert "isn't a size" in run("consolidate", "--max-bytes", "lots", "--yes", expect=2)
    assert "needs a budget" in run("consolidate", "--yes", expect=2)
    assert "would be evicted: 2 of kind episode" in run("consolidate", "--max-memories", "1", "--dry-run")
    report = parsed(run("consolidate", "--max-memories", "1", "--yes", "--json"))
    assert (report["before"]["memories"], report["after"]["memories"], len(report["evicted"])) == (3, 1, 2)
    assert "after: 1 memories" in run("consolidate", "--max-bytes", "1MiB", "--dry-run")


@pytest.mark.requirement("MEM-7")
def test_a_language_model_reads_what_waits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`extract` counts, reads to the end, and says what failed; without a model it says what to set."""
    (Path.cwd() / "talk.json").write_text(json.dumps(TALK))
    run("record", "talk.json", "--session", "s", "--user", "ana")
    assert "no LLM is configured" in run("extract", expect=2)
    assert run("extract", "--all", "--dry-run") == "2 messages wait, 52 characters (about 13 tokens)\n"
    assert "exclude each other" in run("extract", "--all", "--session", "s", expect=2)
    flight = entry("flight to Lisbon on 4 June", kind="episode")
    llm = ScriptedLLM("garbage", LLMError("the LLM at host is away", of_endpoint=True), listed(flight))
    monkeypatch.setenv("GERMANE_LLM", "openai:m")
    monkeypatch.setattr(wiring, "open_llm", lambda name, access: llm)
    run("extract", "--all", expect=1)
    run("extract", expect=1)
    told = run("extract")
    assert told == "read 2 messages, stored 1 memories, ended 0, rejected 0\n1 calls, 100 tokens in and 20 out\n"
    assert parsed(run("extract", "--session", "s", "--user", "ana", "--json"))["calls"] == 0
    assert "extraction" in run("doctor")


@pytest.mark.requirement("CLI-1")
def test_an_audit_names_what_deserves_a_look(run: Run) -> None:
    """Secrets and contradictions make the exit code 1; nothing of the texts is printed."""
    one = parsed(run("remember", "The returns desk closes at 17:00", "--json"))
    assert "examined 1 memories and 0 messages" in run("audit")
    run("remember", "The returns desk closes at 18:00")
    run("audit", expect=1)
    run("review", "--resolve", parsed(run("review", "--json"))["conflicts"][0]["id"], "--keep", one["id"])
    told = run("audit", "--unused-days", "0", "--no-messages")
    assert f"never retrieved: {one['id']}" in told
    assert "desk" not in told
    assert parsed(run("audit", "--json"))["counts"]["contradiction"] == 0
    assert "texts are as they were stored" in run("doctor", "--full")
