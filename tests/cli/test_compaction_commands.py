"""`germane compact`, `germane show HANDLE` and `germane outline`: long conversations from a shell."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("CLI-2", "HIST-5")

Run = Callable[..., str]
DEMAND = "Please never touch the tests in the parser."
LOG = "boot log line with nothing in it\n"


def talk(count: int = 30) -> list[dict[str, Any]]:
    """A user's demand, and exchanges with a tool output of some 250 tokens each."""
    said: list[dict[str, Any]] = [{"role": "user", "content": DEMAND}, {"role": "assistant", "content": "I won't."}]
    for number in range(count):
        call = {
            "id": f"c{number}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"path": "{number}.log"}}'},
        }
        said += [
            {"role": "user", "content": f"What does {number}.log say?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"log {number}\n{LOG * 30}"},
            {"role": "assistant", "content": f"It says that pump {number} is fine."},
        ]
    return [*said, {"role": "user", "content": "And now?"}]


def test_a_compaction_is_printed_and_no_store_is_made(run: Run, tmp_path: Path) -> None:
    """Figures and the summary for a person, also at 40 columns; the messages as JSON, and in a file as it was given."""
    Path("talk.json").write_text(json.dumps(talk()))
    text = run("compact", "talk.json", "--max-tokens", "1500", columns=40)
    assert all(len(line) <= 40 for line in text.splitlines())
    for words in ("9,150 before", "summarised", "114 messages", DEMAND):
        assert words in " ".join(text.split())
    assert "tool outputs" in run("compact", "talk.json", "--max-tokens", "6000", columns=40)
    made = json.loads(run("compact", "-", "--max-tokens", "1500", "--json", "--out", "out.json", stdin=json.dumps(talk())))
    assert made["fits"]
    assert made["tokens"] <= 1500 < made["tokens_before"]
    assert made["messages"][-1] == {"role": "user", "content": "And now?"}
    assert DEMAND in made["constraints"]
    assert (made["summarised"] > 0, made["cited"]) == (True, [])
    assert json.loads(Path("out.json").read_text()) == made["messages"]
    request = {"messages": talk(), "system": "Be kind.", "tools": []}
    run("compact", "-", "--max-tokens", "1500", "--provider", "openai", "--out", "out.json", stdin=json.dumps(request))
    assert (set(json.loads(Path("out.json").read_text()))) == {"messages", "system", "tools"}
    assert {path.name for path in tmp_path.iterdir()} == {"talk.json", "out.json"}


@pytest.mark.parametrize("strategy", ["summarise", "truncate", "importance", "time-decay"])
def test_each_strategy_fits(run: Run, strategy: str) -> None:
    """By its name."""
    given = json.dumps(talk())
    made = json.loads(run("compact", "-", "--max-tokens", "1500", "--strategy", strategy, "--json", stdin=given))
    assert made["tokens"] <= 1500
    assert made["messages"][-1] == {"role": "user", "content": "And now?"}


def test_what_cant_fit_is_printed_with_exit_code_1(run: Run) -> None:
    """The messages and the reason are there nevertheless."""
    long = json.dumps([{"role": "user", "content": "pump " * 2_000}])
    run("compact", "-", "--max-tokens", "500", expect=1, stdin=long)


def test_a_handle_of_a_session_is_shown(run: Run) -> None:
    """A span and an output, for a person at any width and as JSON; another user's and another org's aren't."""
    given = json.dumps(talk())
    ada = ("--user", "ada")
    cited = list[str]()
    for tokens in ("5000", "6000"):
        made = json.loads(run("compact", "-", "--max-tokens", tokens, "--session", "s1", "--json", *ada, stdin=given))
        cited += made["cited"][:1]
    kinds = dict[str, str]()
    for handle in cited:
        shown = json.loads(run("show", handle, *ada, "--json"))
        assert (shown["type"], shown["handle"], shown["session"]) == ("earlier", handle, "s1")
        kinds[shown["kind"]] = handle
    assert set(kinds) == {"output", "span"}
    for columns in (40, 100):
        text = run("show", kinds["output"], *ada, columns=columns)
        assert "boot log line" in text
        assert all(len(line) <= columns for line in text.splitlines())
    assert DEMAND in " ".join(run("show", kinds["span"], *ada).split())
    error = run("show", kinds["span"], expect=1)
    assert kinds["span"] in error
    assert error.count("\n") == 1
    assert DEMAND not in run("show", kinds["span"], "--org", "other", expect=1)


def test_what_was_kept_is_counted_and_forgotten_with_its_session(run: Run) -> None:
    """Also where no message of the conversation was recorded."""
    given = json.dumps(talk())
    made = json.loads(run("compact", "-", "--max-tokens", "5000", "--session", "s1", "--json", stdin=given))
    counted = dict(line.split() for line in run("stats").splitlines() if line.split()[0] in ("archived", "summaries"))
    assert counted == {"archived": str(json.loads(run("stats", "--json"))["archived"]), "summaries": "1"}
    assert "kept parts of compacted conversations" in run("forget", "--session", "s1", "--dry-run")
    assert json.loads(run("forget", "--session", "s1", "--yes", "--json"))["compaction_ids"]
    assert made["cited"][0] in run("show", made["cited"][0], expect=1)


def test_a_message_with_an_id_like_a_handle_is_shown(run: Run) -> None:
    """By the caller's own id of it."""
    message = {"role": "user", "content": "My flight leaves on 4 June", "id": "h0123456789ab"}
    run("record", "-", "--session", "s1", stdin=json.dumps([message]))
    assert "4 June" in run("show", "h0123456789ab")
    assert "h0123456789ac" in run("show", "h0123456789ac", expect=1)


def test_an_outline_has_a_line_for_each_exchange(run: Run) -> None:
    """In pages, with times, at any width; a session without messages says so."""
    run("record", "-", "--session", "s1", "--user", "ada", stdin=json.dumps(talk(5)))
    whole = json.loads(run("outline", "s1", "--user", "ada", "--json"))
    assert (len(whole["lines"]), whole["cursor"]) == (7, None)
    first = json.loads(run("outline", "s1", "--user", "ada", "--limit", "2", "--json"))
    rest = json.loads(run("outline", "s1", "--user", "ada", "--cursor", first["cursor"], "--json"))
    assert first["lines"] + rest["lines"] == whole["lines"]
    assert "add --cursor" in run("outline", "s1", "--user", "ada", "--limit", "2")
    for columns in (40, 100):
        text = run("outline", "s1", "--user", "ada", columns=columns)
        assert "3.log" in text
        assert all(len(line) <= columns for line in text.splitlines())
    assert "germane sessions" in run("outline", "s2", "--user", "ada")
    assert "--user ada" in run("outline", "s1")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compact", "nothing.json"), "no file nothing.json"),
        (("compact", "-", "--strategy", "forget"), "summarise, truncate"),
        (("compact", "-", "--max-tokens", "0"), "--max-tokens"),
        (("compact", "-", "--provider", "nobody"), "provider"),
        (("compact", "-", "--session", ""), "session"),
        (("outline", "s1", "--limit", "0"), "--limit"),
    ],
)
def test_what_cant_be_used_says_why(run: Run, arguments: tuple[str, ...], said: str) -> None:
    """In one line, with the exit code of a wrong command."""
    error = run(*arguments, expect=2, stdin="[]")
    assert said in error
    assert error.count("\n") == 1


def test_an_outline_makes_no_store(run: Run, tmp_path: Path) -> None:
    """It only reads."""
    assert "no database at" in run("outline", "s1", expect=3)
    assert not list(tmp_path.iterdir())
