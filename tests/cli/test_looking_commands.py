"""The commands that look through a store: list, show, update, history, messages, sessions, users, agents, orgs, stats,
and --why."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.requirement("CLI-2")

Run = Callable[..., str]
TALK = [
    {"role": "user", "content": "My flight to Lisbon leaves on 4 June", "id": "m1", "created_at": "2025-05-01T09:00:00Z"},
    {"role": "assistant", "content": "Have a good trip", "id": "m2", "created_at": "2025-05-01T09:01:00Z"},
]
LOOKING = ("list", "messages", "sessions", "users", "agents", "orgs", "stats")


@pytest.fixture
def told(run: Run) -> dict[str, str]:
    """A store with two versions of a fact, a pinned preference and two messages of ada. Returns ids by name."""
    ids = {}
    for name, value in (("old", "Vienna"), ("new", "Graz")):
        ids[name] = parsed(run("remember", "--kind", "fact", "--key", "city", "--value", value, "--user", "ada", "--json"))[
            "id"
        ]
    ids["pin"] = parsed(
        run("remember", "Prefers letters", "--kind", "preference", "--pinned", "--tag", "post", "--user", "ada", "--json")
    )["id"]
    run("record", "-", "--session", "s1", "--user", "ada", stdin=json.dumps(TALK))
    return ids


def words_of(text: str) -> list[str]:
    """Whole words: the digits of an id can hold any."""
    return re.findall(r"\w+", text)


def parsed(text: str) -> Any:
    return json.loads(text)


def test_a_listing_narrows_and_shows_history_on_request(run: Run, told: dict[str, str]) -> None:
    """Kind, tag, time, sensitivity, session, --all."""

    def listed(*arguments: str) -> list[str]:
        return [one["id"] for one in parsed(run("list", "--user", "ada", "--json", *arguments))["memories"]]

    assert listed() == [told["pin"], told["new"]]
    assert listed("--all") == [told["pin"], told["new"], told["old"]]
    assert listed("--kind", "fact") == [told["new"]]
    assert listed("--tag", "post") == [told["pin"]]
    assert listed("--since", "2999-01-01") == listed("--until", "2020-01-01") == listed("--sensitivity", "public") == []
    assert listed("--session", "s1") == []
    first = parsed(run("list", "--user", "ada", "--json", "--limit", "1"))
    assert listed("--limit", "1", "--cursor", first["cursor"]) == [told["new"]]


def test_a_thing_is_shown_with_all_that_is_known(run: Run, told: dict[str, str]) -> None:
    """By id, by its beginning and by the caller's message id; with history and provenance."""
    shown = parsed(run("show", told["new"][:-1], "--user", "ada", "--json"))
    assert (shown["id"], shown["versions"]) == (told["new"], [told["old"], told["new"]])
    text = run("show", told["new"], "--user", "ada")
    assert "Vienna" in text
    assert "← this one" in text
    message = parsed(run("show", "m2", "--user", "ada", "--json"))
    assert (message["type"], message["text"], message["session"]) == ("message", "Have a good trip", "s1")
    assert "Have a good trip" in run("show", "m2", "--user", "ada")


def test_a_memory_is_corrected_by_the_beginning_of_its_id(run: Run, told: dict[str, str]) -> None:
    """Text and attributes; nothing to change is refused."""
    changed = parsed(
        run(
            "update",
            told["pin"][:-1],
            "Prefers post",
            "--unpinned",
            "--tag",
            "",
            "--user",
            "ada",
            "--confidence",
            "1",
            "--json",
        )
    )
    assert (changed["text"], changed["pinned"], changed["tags"], changed["confidence"]) == ("Prefers post", False, [], 1.0)
    run("update", told["new"], "--value", "42", "--expires-at", "2999-01-01", "--user", "ada")
    changed = parsed(run("update", told["new"], "--expires-at", "none", "--user", "ada", "--json"))
    assert (changed["value"], changed["expires_at"]) == (42, None)
    assert "nothing to change" in run("update", told["new"], "--user", "ada", expect=2)
    assert "isn't valid" not in run("update", told["new"], "--confidence", "nan", "--user", "ada", expect=2)


def test_versions_messages_sessions_users_agents_and_counts(run: Run, told: dict[str, str]) -> None:
    """Each as JSON and as a text that names what the JSON has."""
    history = parsed(run("versions", told["old"][:-2], "--user", "ada", "--json"))["memories"]
    assert [one["id"] for one in history] == [told["old"], told["new"]]
    messages = parsed(run("messages", "--user", "ada", "--json"))["messages"]
    assert [one["message_id"] for one in messages] == ["m1", "m2"]
    earlier = parsed(run("messages", "s1", "--user", "ada", "--json", "--limit", "1"))
    assert [one["message_id"] for one in earlier["messages"]] == ["m2"]
    assert "earlier ones" in run("messages", "--user", "ada", "--limit", "1")
    assert [one["id"] for one in parsed(run("sessions", "--user", "ada", "--json"))["sessions"]] == ["s1"]
    assert [one["user"] for one in parsed(run("users", "--json"))["users"]] == ["ada"]
    assert [one["agent"] for one in parsed(run("agents", "--json"))["agents"]] == ["default"]
    (org,) = parsed(run("orgs", "--json"))["orgs"]
    assert (org["org"], org["agents"], org["users"], org["memories"], org["messages"]) == ("default", 1, 1, 3, 2)
    stats = parsed(run("stats", "--user", "ada", "--json"))
    assert (stats["memories"], stats["ended"], stats["messages"]) == ({"fact": 1, "preference": 1}, 1, 2)
    for command in LOOKING:
        assert run(command, *(() if command in ("users", "agents", "orgs") else ("--user", "ada")))


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_no_column_is_cut_to_nothing_at_any_width(run: Run, told: dict[str, str], columns: int) -> None:
    """At 40 columns things are stacked, with whole ids; no line is longer than the terminal."""
    commands: list[tuple[str, ...]] = [(name, "--user", "ada") for name in ("messages", "sessions", "stats")]
    commands += [("list", "--all", "--user", "ada"), ("users",), ("agents",), ("orgs",), ("search", "Lisbon", "--user", "ada")]
    commands += [("show", "m1", "--user", "ada"), ("versions", told["new"], "--user", "ada")]
    for command in commands:
        text = run(*command, columns=columns)
        assert max(map(len, text.splitlines())) <= columns, command
        assert "…" not in text
    run("keys", "create", "--org", "acme")
    keys = " ".join(run("keys", "list", columns=columns).split())
    assert "active" in keys
    assert "created" in keys
    explained = run("explain", "--query", "When does my flight leave?", "--user", "ada", columns=columns)
    assert "Prefers letters" in " ".join(explained.split())
    listed = " ".join(run("list", "--all", "--user", "ada", columns=columns).split())
    for words in (told["pin"][:13], "preference", "pinned", "Prefers letters", "ended", "city: Vienna"):
        assert words in listed
    assert (told["pin"] in listed) == (columns != 80)


def test_a_scope_without_anything_hints_at_the_nearest_that_has(run: Run, told: dict[str, str]) -> None:
    """Another user, else another agent, else another org: names, counts, and the command to type, word for word."""
    assert "user ada holds 3 memories and 2 messages:\n  germane list --user ada\n" in run("list")
    for command in ("list", "messages", "sessions", "stats", "search", "about"):
        words = ("it's 'x'", "--kind", "fact") if command == "search" else ()
        for scope, named in (
            (("--user", "eve"), "user ada"),
            (("--agent", "nobody"), "agent default, user ada"),
            (("--org", "other", "--agent=x"), "org default, agent default, user ada"),
        ):
            lines = run(command, *words, *scope, columns=40).splitlines()
            assert lines[-2] == f"{named} holds 3 memories and 2 messages:"
            typed = shlex.split(lines[-1])
            assert typed == ["germane", command, *words, "--user", "ada"]
            assert "ada holds" not in run(*typed[1:])
    assert "without them there are 2" in run("list", "--user", "ada", "--tag", "nothing")


@pytest.mark.parametrize("columns", [40, 80])
def test_what_the_readmes_example_stored_is_found_by_the_hints(run: Run, columns: int) -> None:
    """In a scope that is no default; and what a scope has beside memories is told first."""
    scope = ("--org", "acme", "--agent", "support", "--user", "caroline")
    run("remember", "Prefers e-mail to phone calls", "--kind", "preference", *scope)
    run("record", "-", "--session", "monday", *scope, stdin=json.dumps(TALK[:1]))
    command = "--org acme --agent support --user caroline"
    for asked in (("list",), ("stats",), ("search", "vase"), ("list", "--org", "acme")):
        told = run(*asked, columns=columns).splitlines()
        assert told[-2].endswith("agent support, user caroline holds 1 memory and 1 message:")
        assert told[-1] == f"  germane {asked[0]}{' vase' if asked[0] == 'search' else ''} {command}"
    run("record", "-", "--session", "s", stdin=json.dumps(TALK))
    assert run("list") == "no memories here\nmessages are here: germane messages prints them\n"


def test_of_an_account_of_two_about_tells_who_writes_there(run: Run) -> None:
    """Without a name both are known together; by name each is."""
    talk = [{"role": "user", "name": name, "content": text} for name, text in (("Tom", "I prefer tea."), ("Ana", "I'm out."))]
    run("record", "-", "--session", "s", "--user", "flat", stdin=json.dumps(talk))
    told = run("about", "--user", "flat")
    assert told.startswith("Ana, Tom write here, and are known together:\n\nNow\n  Tom: I prefer tea")
    assert "I'm out." in told
    assert "I'm out." not in run("about", "Tom", "--user", "flat")
    assert parsed(run("about", "--user", "flat", "--json"))["hints"] == ["Ana", "Tom"]


def test_an_empty_store_says_how_to_begin(run: Run, told: dict[str, str]) -> None:
    run("forget", "--everything", "--yes", "--user", "ada")
    for command in ("list", "orgs", "users"):
        assert "nothing is stored in this file yet (begin with germane import" in run(command)


def test_what_all_users_share_is_hinted_at_without_a_user(run: Run) -> None:
    """And the largest scope of each agent; options stand in front of a bare --."""
    run("remember", "Closed on Mondays", "--agent", "desk")
    run("remember", "Likes tea", "--agent", "bar", "--user", "bo")
    told = run("search", "--", "-x").splitlines()
    assert told == [
        "nothing found",
        "agent desk holds for all users 1 memory:",
        "  germane search --agent desk -- -x",
        "agent bar, user bo holds 1 memory:",
        "  germane search --agent bar --user bo -- -x",
    ]


def test_another_users_thing_is_named_to_whoever_has_the_file(run: Run, told: dict[str, str]) -> None:
    """show, update, history and --why say whose it is, and what to type."""
    for command in (("show",), ("update", "--unpinned"), ("versions",)):
        for scope in ((), ("--org", "other")):
            error = run(command[0], told["pin"], *command[1:], *scope, expect=1)
            org = " of org default" if scope else ""
            typed = " ".join((command[0], told["pin"], *command[1:]))
            assert f"it belongs to user ada of agent default{org}: germane {typed} --user ada" in error
    for scope in ((), ("--org", "other")):
        why = parsed(run("explain", "--query", "letters?", "--why", told["pin"], "--json", *scope))
        assert why["outcome"] == "absent"
        assert "user ada" in why["text"]


def test_why_tells_what_happened_to_one_thing(run: Run, told: dict[str, str]) -> None:
    """In, superseded, forgotten; a trace can't be asked."""
    ask = ("explain", "--query", "Which city?", "--user", "ada")
    assert parsed(run(*ask, "--why", told["pin"][:-1], "--json"))["outcome"] == "injected"
    assert "superseded it on" in " ".join(run(*ask, "--why", told["old"]).split())
    run("forget", told["pin"], "--yes", "--user", "ada", "--reason", "asked")
    assert "asked" in run(*ask, "--why", told["pin"])
    assert "was forgotten on" in run("show", told["pin"], "--user", "ada", expect=1)
    assert "--trace" in run("explain", "--why", "x", "--trace", "t.json", expect=2)


def test_forget_completes_an_id_but_guesses_nothing_where_nobody_is_asked(run: Run, told: dict[str, str]) -> None:
    """With --yes the beginning must reach beyond the first hyphen; a message id of one's own stays one."""
    dry = parsed(run("forget", told["pin"][:-1], "--dry-run", "--user", "ada", "--json"))
    assert dry["memory_ids"] == [told["pin"]]
    kept = parsed(run("forget", told["pin"][:9], "--yes", "--user", "ada", "--json"))
    assert kept["memory_ids"] == []
    assert parsed(run("forget", told["pin"][:-1], "--yes", "--user", "ada", "--json"))["memory_ids"] == [told["pin"]]
    assert len(parsed(run("forget", "m1", "--yes", "--user", "ada", "--json"))["event_ids"]) == 1


@pytest.mark.parametrize("command", [*LOOKING, "show x", "update x y", "versions x", "explain --query x --why y"])
def test_looking_creates_no_store(run: Run, command: str, tmp_path: Path) -> None:
    """A mistyped name doesn't look like an empty store."""
    assert "no database at" in run(*command.split(), expect=3)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("list", "--kind", "tune"), "fact, preference"),
        (("list", "--sensitivity", "secret"), "public, private, sensitive"),
        (("list", "--since", "soon"), "--since"),
        (("list", "--limit", "0"), "--limit"),
        (("list", "--cursor", "x"), "begin again"),
        (("show", "01"), "four or more"),
        (("show", "-"), "no memory or message"),
    ],
)
def test_bad_input_says_what_to_do(run: Run, told: dict[str, str], arguments: tuple[str, ...], said: str) -> None:
    """In one line."""
    error = run(*arguments, "--user", "ada", expect=1 if arguments[0] == "show" else 2)
    assert said in error
    assert error.count("\n") == 1


def test_germane_alone_says_how_to_begin(run: Run) -> None:
    """At any width, without an error; with a store it says so."""
    for columns in (40, 100):
        text = run(columns=columns)
        assert "germane demo" in text
        assert "There is no store at germane.db yet" in text
    run("remember", "tea")
    assert "germane stats" in run()


def test_help_is_short_too_and_names_values_for_people(run: Run) -> None:
    """-h and --help are the same everywhere, and no type of the implementation shows."""
    commands = [
        line.split()[0]
        for line in run("-h").partition("Commands:")[2].partition("Exit codes")[0].splitlines()
        if line.startswith("  ") and line[2:3].strip()
    ]
    assert set(LOOKING) <= set(commands)
    for command in [
        [],
        *([name] for name in commands),
        ["keys", "list"],
        ["keys", "create"],
        ["eval", "fit"],
        ["eval", "label"],
    ]:
        text = run(*command, "-h")
        assert text == run(*command, "--help")
        assert "-h, --help" in text
        for kind in ("int range", "<int", "<float", "<str", "<path", "list["):
            assert kind not in text, (command, kind)


def test_what_a_memory_was_made_from_is_shown(run: Run, told: dict[str, str]) -> None:
    """Its sources, since when it is stale, and what says nearly the same."""
    made = ("remember", "The way to work takes some ten minutes by bus and a bit less on foot along the canal", "--user", "ada")
    sources = ("--derived-from", told["new"], "--valid-from", "2020-01-01", "--valid-to", "2999-01-01")
    first = parsed(run(*made, *sources, "--json"))
    assert (first["derived_from"], first["valid_to"][:4]) == ([told["new"]], "2999")
    second = parsed(run("remember", made[1] + "!", "--user", "ada", "--json"))
    run("update", told["new"], "--value", "Linz", "--user", "ada")
    shown = run("show", first["id"], "--user", "ada")
    assert all(word in shown for word in ("made from", told["new"], "stale since", "near-duplicates", second["id"]))


def test_a_review_of_narrow_screens_keeps_texts_under_their_ids(run: Run) -> None:
    """Each id alone in its line, the text behind it in lines of its own."""
    for number in (12, 15):
        run("remember", f"The budget for the kitchen of the house in Leith is {number},000 euros")
    lines = run("review", columns=40).splitlines()
    texts = [line for line in lines if "budget" in line or "Leith" in line]
    assert texts
    assert all(line.startswith("    ") for line in texts)
    ids = [line.split()[0] for line in lines if line.startswith("  01")]
    assert len(ids) == 2
    assert all(len(id) == 36 for id in ids)


@pytest.mark.parametrize("command", ["remember", "audit", "digest", "review"])
def test_help_fits_into_a_narrow_terminal(run: Run, command: str) -> None:
    """But for examples, which are to be copied."""
    lines = run(command, "-h", columns=40).splitlines()
    assert all(len(line) <= 40 for line in lines if "germane " not in line), lines


def test_about_prints_what_holds_now_what_ended_and_what_was_said(run: Run) -> None:
    """In a narrow terminal too; of an unknown name it says so, with names like it."""
    for value in ("Vienna", "Graz"):
        run("remember", "--kind", "fact", "--key", "paul.city", "--value", value)
    talk = [{"role": "user", "name": "Paul", "content": "I sold my bike", "created_at": "2025-05-01T09:00:00Z"}]
    run("record", "-", "--session", "s1", stdin=json.dumps(talk))
    shown = run("about", "paul", columns=40)
    assert shown.splitlines()[:2] == ["Now", "  paul city: Graz"]
    assert "Earlier\n  paul city: Vienna (" in shown
    assert shown.endswith("Said\n  2025-05-01 Paul: I sold my bike\n")
    found = parsed(run("about", "paul", "--json"))
    assert [len(found[group]) for group in ("current", "earlier", "mentions")] == [1, 1, 1]
    assert run("about", "paula").strip() == "Nothing is known about paula here. Names like it: Paul."
    assert "not blank" in run("about", " ", expect=2)


def test_stats_without_a_user_count_each_users_own(run: Run, told: dict[str, str]) -> None:
    """What all users share stands apart."""
    said = run("stats")
    assert "besides, its user has" in said
    assert "  ada: 3 memories and 2 messages" in said
    assert "--user NAME counts what one of them sees" in said
    assert [one["user"] for one in parsed(run("stats", "--json"))["by_user"]] == ["ada"]
    assert "by_user" not in parsed(run("stats", "--user", "ada", "--json"))


def test_stats_count_what_isnt_a_memory_too(run: Run) -> None:
    """Entities, relations and tasks stand in a line each, where there are any."""
    run("entity", "add", "person", "Ada")
    run("entity", "add", "person", "Paul")
    run("entity", "relate", "Ada", "knows", "Paul")
    run("task", "push", "Ship it")
    counted = [line.split() for line in run("stats").splitlines()]
    assert [one for one in counted if one[0] in ("entities", "relations", "tasks")] == [
        ["entities", "2"],
        ["relations", "1"],
        ["tasks", "1"],
    ]
