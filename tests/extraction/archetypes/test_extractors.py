"""Extractors: what the built-in ones find in events, and that hostile events cost them no more than others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.extraction.archetypes.extractors import names
from germane.extraction.archetypes.findings import Findings, merged
from germane.extraction.archetypes.plans import extract_from, window
from germane.extraction.archetypes.registry import BUILT_IN, CODING, RESEARCH, SUPPORT
from germane.extraction.archetypes.value import Archetype
from germane.kinds.events.value import FIRST_TYPED, Event
from germane.kinds.events.wording import wording
from germane.kinds.graph.value import EntityFinding, EntityName, RelationFinding
from germane_testing.builders import NOON, an_event


def done(type: str, content: Any, outcome: str = "", *, minute: int = 0, task: str | None = None) -> Event:
    return an_event(
        wording(type, content),
        type=type,
        role="",
        position=FIRST_TYPED + minute,
        raw={"content": content},
        outcome=outcome,
        task=task,
        created_at=NOON + timedelta(minutes=minute),
    )


def found(archetype: Archetype, event: Event, before: Sequence[Event] = ()) -> tuple[set[str], set[str]]:
    findings, faults = extract_from(archetype, event, before)
    assert faults == ()
    names = {f"{one.type}:{one.name}" for one in findings.entities}
    return names, {f"{one.source.name} {one.type} {one.target.name}" for one in findings.relations}


@pytest.mark.requirement("GRAPH-4")
def test_a_written_file_contains_symbols_and_imports_packages() -> None:
    """In several languages; comments and calls define nothing."""
    code = "import os\nfrom app.core import run\n# class Not\nclass App(Base):\n    async def start(self):\n        call()\n"
    names, relations = found(CODING, done("file_write", {"path": "./src/app.py", "content": code}))
    assert {"file:src/app.py", "symbol:App", "symbol:start", "package:os", "package:app.core"} == names
    assert "src/app.py contains start" in relations
    assert "src/app.py imports app.core" in relations
    typescript = (
        "import { a } from './lib'\nconst b = require('fs')\nexport async function load() {}\nexport interface Shape {}"
    )
    names, _ = found(CODING, done("file_edit", {"path": "src/a.ts", "new": typescript}))
    assert {"symbol:load", "symbol:Shape", "package:fs"} <= names
    rust = "use std::fs;\npub struct Point {}\npub fn move_to() {}\n"
    assert {"symbol:Point", "symbol:move_to", "package:std::fs"} <= found(
        CODING, done("file_write", {"path": "a.rs", "content": rust})
    )[0]


def test_prose_defines_no_symbols() -> None:
    """Only source files do."""
    text = "class of 1999\nimport duties rose\ntype one diabetes"
    assert found(CODING, done("file_write", {"path": "notes.md", "content": text}))[0] == {"file:notes.md"}


@pytest.mark.parametrize(
    ("output", "error"),
    [
        ('  File "src/a.py", line 3, in f\nValueError: bad port', "ValueError: bad port"),
        ("error[E0308]: mismatched types\n --> src/a.rs:3:5", "error[E0308]: mismatched types"),
        ("src/a.ts:3:1 - error TS2304: Cannot find name 'x'.", "error TS2304: Cannot find name 'x'."),
        ("npm ERR! code ERESOLVE", "npm ERR! code ERESOLVE"),
        ("bash: foo: command not found", "bash: foo: command not found"),
        ("fatal: not a git repository", "fatal: not a git repository"),
        ("KeyError: 0x7f1234567890 of 1234567", "KeyError: … of …"),
    ],
)
def test_the_error_of_a_failed_command_is_found(output: str, error: str) -> None:
    """In the forms of Python, Rust, TypeScript, npm, shells and git; what differs each time is left out of its name."""
    names, relations = found(CODING, done("shell_exec", {"command": "make", "stderr": output}, "failure"))
    assert f"error:{error}" in names
    assert f"make causes {error}" in relations


def test_a_command_that_succeeded_has_no_error() -> None:
    """Whatever its output says of errors."""
    names, _ = found(CODING, done("shell_exec", {"command": "grep Error x", "stdout": "KeyError: a"}, "success"))
    assert names == {"command:grep Error x", "tool:grep"}


def test_an_error_occurs_in_the_last_own_file_of_its_stack() -> None:
    """Not in that of a library."""
    stack = 'File "src/a.py", line 1\nFile "src/b.py", line 2\nFile "/x/site-packages/lib/c.py", line 3'
    _, relations = found(CODING, done("error", {"message": "KeyError: 'a'", "stack": stack}))
    assert relations == {"KeyError: 'a' occurs_in src/b.py"}
    _, relations = found(
        CODING, done("error", {"message": "boom", "stack": "at f (src/app.ts:12:3)\nat https://x.org/a.js:1:2"})
    )
    assert relations == {"boom occurs_in src/app.ts"}


def test_an_error_event_comes_from_the_command_right_before_it() -> None:
    """Of the same task, and unless that succeeded."""
    error = done("error", "boom", minute=9, task="t")
    ran = done("shell_exec", "make", "failure", minute=1, task="t")
    assert found(CODING, error, [ran])[1] == {"make causes boom"}
    assert found(CODING, error, [done("shell_exec", "make", "success", task="t")])[1] == set()
    assert found(CODING, error, [done("shell_exec", "make", "failure", task="u")])[1] == set()


def test_a_fix_needs_the_same_command_to_succeed_after_a_change() -> None:
    """Not another command, not without a change in between, and not with too many changes to tell."""
    failed = done("shell_exec", {"command": "make", "stderr": "KeyError: 'a'"}, "failure", minute=0)
    ok = done("shell_exec", {"command": "make", "stdout": "fine"}, "success", minute=9)
    edits = [done("file_edit", {"path": f"{n}.py", "new": "x"}, minute=n + 1) for n in range(5)]

    def fixed(*before: Event, by: Event = ok) -> set[str]:
        return {one for one in found(CODING, by, before)[1] if " fixes " in one}

    assert fixed(failed, edits[0]) == {"0.py fixes KeyError: 'a'"}
    assert fixed(failed, *edits[:3]) == {f"{n}.py fixes KeyError: 'a'" for n in range(3)}
    assert fixed(failed, *edits) == fixed(failed) == fixed(edits[0]) == set()
    assert fixed(failed, edits[0], by=done("shell_exec", "other", "success", minute=9)) == set()
    installed = done("shell_exec", {"command": "pip install a"}, "success", minute=3)
    assert fixed(failed, installed) == {"pip install a fixes KeyError: 'a'"}


def test_tests_are_found_with_their_files() -> None:
    """By name, and in pytest's form in an output."""
    output = "tests/test_a.py::test_one PASSED\ntests/test_a.py::TestB::test_two[x-1] FAILED"
    names, relations = found(CODING, done("shell_exec", {"command": "pytest", "stdout": output}, "failure"))
    assert {"test:tests/test_a.py::test_one", "test:tests/test_a.py::TestB::test_two[x-1]"} <= names
    assert "tests/test_a.py contains tests/test_a.py::test_one" in relations
    assert "test:login works" in found(CODING, done("test", {"name": "login works"}, "passed"))[0]


def test_support_finds_customers_tickets_orders_and_products() -> None:
    """From fields by their names, from texts by their form."""
    content = {
        "customer": {"name": "Anna Berg"},
        "email": "a@b.org",
        "ticket": 4711,
        "product": "Kettle",
        "text": "Order no. A-10023",
    }
    names, relations = found(SUPPORT, done("complaint", content, "open"))
    assert {"customer:Anna Berg", "ticket:4711", "product:Kettle", "order:A-10023"} <= names
    assert {"Anna Berg has 4711", "4711 concerns Kettle"} <= relations
    assert "ticket:HELP-12" in found(SUPPORT, done("note", "see HELP-12"))[0]


def test_research_finds_sources_authors_claims_and_topics() -> None:
    """From fields by their names; links and DOIs from texts, without the full stop behind them."""
    content = {"source": "On Tides", "authors": ["M. Sea"], "claim": "Tides follow the moon", "topic": "tides"}
    names, relations = found(RESEARCH, done("finding", content))
    assert {"source:On Tides", "person:M. Sea", "claim:Tides follow the moon", "topic:tides"} <= names
    assert {"M. Sea wrote On Tides", "On Tides claims Tides follow the moon", "On Tides about tides"} <= relations
    names, _ = found(RESEARCH, done("note", "see https://example.org/a and 10.1000/xyz123."))
    assert {"source:https://example.org/a", "source:10.1000/xyz123"} <= names


def test_findings_are_bounded_and_checked() -> None:
    """At most 64 entities of one event, names of at most 256 characters, and relations between nothing else."""
    many = tuple(EntityFinding(type="x", name=f"{n}") for n in range(100))
    long = EntityFinding(type="x", name="a" * 257)
    end, other = EntityName("x", "a" * 257), EntityName("x", "b")
    given = merged([Findings(entities=(long, *many), relations=(RelationFinding(source=end, type="r", target=other),))])
    assert len(given.entities) == 64
    assert given.relations == ()


def test_a_window_has_the_latest_events_by_time() -> None:
    """Those that happened by then, at most 16, whatever the order in which they are known."""
    known = [done("note", f"{n}", minute=n) for n in (5, 3, 1, *range(10, 40))]
    assert [one.text for one in window(done("note", "x", minute=5), known)] == ["note: 1", "note: 3", "note: 5"]
    assert len(window(done("note", "x", minute=99), known)) == 16


@given(
    type=st.sampled_from(["file_write", "shell_exec", "error", "test", "own"]),
    content=st.one_of(
        st.text(max_size=300),
        st.dictionaries(
            st.sampled_from(["path", "command", "stdout", "name", "ticket", "authors", "message"]),
            st.one_of(st.text(max_size=200), st.integers(), st.none(), st.lists(st.text(max_size=20), max_size=3)),
        ),
    ),
    outcome=st.sampled_from(["", "success", "failure"]),
)
def test_no_event_makes_an_extractor_fail(type: str, content: Any, outcome: str) -> None:
    """Whatever it holds."""
    event = done(type, content, outcome)
    for archetype in BUILT_IN:
        assert extract_from(archetype, event, (event,))[1] == ()


def test_names_relate_as_a_users_sentences_say() -> None:
    """What the user says of "I" is said of the speaker; an assistant states nothing."""
    said = an_event("I work at Acme Corp and I live in Vienna.", name="Anna", role="user")
    findings = names(said, ())
    assert {(one.type, one.name) for one in findings.entities} >= {("person", "Anna"), ("place", "Vienna")}
    assert ("Anna", "lives_in", "Vienna") in {(one.source.name, one.type, one.target.name) for one in findings.relations}
    assert names(said._replace(role="assistant"), ()).relations == ()
