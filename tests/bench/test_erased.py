"""Erased: nothing is left of a text, nor of what was made of it, after it was forgotten."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from inspect import getgeneratorlocals
from pathlib import Path
from typing import Any

import apsw
import pytest
import pytest_asyncio
from bench.erased import bytes_of, left_by
from bench.made_texts import ORG, WAYS, Room, lived_in, word_of

from germane import Germane
from germane.kinds.events.value import Event
from germane.kinds.memories.value import Memory
from germane.kinds.tasks.reads import PutFrame
from germane.kinds.tasks.value import TaskFrame
from germane.models.embedders.distilled import Distilled
from germane.stores.sql import plan_run
from germane.types.plan import Change, Decision, Plan, Read, run_plan
from support.calendar import Calendar

pytestmark = pytest.mark.requirement("MEM-3")
IN_LOOP = pytest.mark.asyncio(loop_scope="module")

ELSEWHERE = {
    *("AddKey", "ChangeKey", "ForgetOwner", "PutTombstones", "RestoreVersions"),
    *("IndexBlock", "CompleteOutline", "PutSnapshot", "PlacePassages"),
}
"""Changes with text that no way makes: of API keys, which belong to no scope; of who forgot; of what an export holds; and those
that make rows anew of texts that other changes store."""
NO_TEXT = {
    *(
        "id",
        "kind",
        "type",
        "status",
        "what",
        "mark",
        "state",
        "delegated",
        "permission",
        "domain",
        "role",
        "operation",
        "scope",
    ),
    *("source", "thing", "item", "parent", "base", "root", "current", "superseded_by", "ended_by", "older", "newer", "line"),
    *(
        "task",
        "derived_from",
        "ids",
        "frame",
        "kept",
        "holder",
        "said",
        "turn",
        "tokenizer",
        "relies_on",
        "withdrawn",
        "handle",
        "alias",
    ),
    *("child_session", "allowed", "fingerprint", "checksum", "prefix", "method", "provider", "previous", "asked_of", "needs"),
    *(
        "links.reason",
        "extraction_queue.reason",
        "history_summaries.note",
        "history_archive.title",
        "meta.key",
        "models.identity",
    ),
}
"""Columns of ids, of hashes, and of words that germane has."""
NAMES = {"session", "branch", "org", "agent", "user", "message_id", "task_branches.name", "task_checkpoints.name"}
"""Columns of names that go with their owner (`tests/stores/test_sqlite_everything.py`) or their session."""
KEYS = {"keys.agents", "keys.note", "keys.replaced_by", "keys.rights", "keys.org"}


class Made:
    """A store with all texts, each room's ways to forget them, and the changes that were written."""

    def __init__(self, folder: Path, embedder: Distilled) -> None:
        self.folder, self.embedder = folder, embedder
        self.hows: dict[str, dict[str, Any]] = {}
        self.changes: set[type[Change]] = set()
        self.unnamed: list[tuple[str, str]] = []
        """The plans that made a text of another one without naming this one, with the kind of the change."""

    def open(self, folder: Path) -> Germane:
        return Germane.open(folder / "a.db", embedder=self.embedder, clock=Calendar().clock, freeze=False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def made(tmp_path_factory: pytest.TempPathFactory, embedder: Distilled) -> AsyncIterator[Made]:
    store = Made(tmp_path_factory.mktemp("made"), embedder)

    def noting(plan: Plan[Any], answer: Callable[[Read[Any]], Any]) -> Decision[Any]:
        given, read = _words(getgeneratorlocals(plan)), dict[str, set[str]]()

        def answered(question: Read[Any]) -> Any:
            found = answer(question)
            for one in found.values() if isinstance(found, dict) else found if isinstance(found, tuple) else (found,):
                if isinstance(one, Memory | Event | TaskFrame):
                    read[one.id] = _words(one)
            return found

        decision = run_plan(plan, answered)
        for change in decision.changes:
            store.changes.add(type(change))
            if change.derivation is not None:
                made = _words(change) - given
                above = change.frame.parent if isinstance(change, PutFrame) else None
                named = {change.derivation.thing, above, *change.derivation.sources}
                if any(made & words for id, words in read.items() if id not in named):
                    store.unnamed.append((getattr(plan, "__qualname__", ""), type(change).__name__))
        return decision

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plan_run, "run_plan", noting)
        async with store.open(store.folder) as germane:
            store.hows = {name: room.hows for name, room in (await lived_in(germane)).items()}
    yield store


def _words(of: object) -> set[str]:
    """The words of rooms in anything."""
    return set(re.findall(r"\bZq[a-z]{9}\b", repr(of)))


def _narrowest(hows: dict[str, Any]) -> str:
    return next(iter(hows))


def _session(hows: dict[str, Any]) -> str:
    return "session" if "session" in hows else [*hows][-1]


def _everything(_: dict[str, Any]) -> str:
    return "everything"


@IN_LOOP
@pytest.mark.parametrize("chosen", [_narrowest, _session, _everything])
async def test_what_was_made_of_a_text_is_forgotten_with_it(
    made: Made, chosen: Callable[[dict[str, Any]], str], tmp_path: Path
) -> None:
    """Every byte of the database, its log, a backup and an export: after the narrowest way to forget each text, the session,
    and everything. `python -m bench erased` tries all of them, and looks at answers and prompts too."""
    folder = tmp_path / "copy"
    shutil.copytree(made.folder, folder)
    words = {word_of(name): name for name in WAYS}
    assert {words[word] for word in bytes_of(folder, [*words])} == set(WAYS), "no text was made"
    async with made.open(folder) as germane:
        faults = await asyncio.gather(
            *(left_by(germane, Room(germane, name, hows), chosen(hows)) for name, hows in made.hows.items())
        )
        assert {name: found for name, found in zip(made.hows, faults, strict=True) if found} == {}
        await germane.backup(folder / "backup.db")
        lines = [json.dumps(line) async for line in germane.export(org=ORG)]
        (folder / "export.jsonl").write_text("\n".join(lines))
    assert {words[word] for word in bytes_of(folder, [*words])} == set()


def test_a_plan_names_what_it_makes_a_text_of(made: Made) -> None:
    """What a plan was answered, and nobody gave it, comes into a stored text with the id of what it stands in. A frame names
    what it stands below."""
    assert made.unnamed == []


def _classes(of: type[Change] = Change) -> Iterator[type[Change]]:
    for one in of.__subclasses__():
        yield one
        yield from _classes(one)


def test_every_change_that_holds_text_is_made_in_some_way(made: Made) -> None:
    """A new writer of text is found here: it needs a way in `bench/made_texts.py`."""
    wanted = {one.__name__ for one in _classes() if one.text_of != "nothing" and one.__module__.startswith("germane.")}
    assert wanted - {one.__name__ for one in made.changes} - ELSEWHERE == set()


def test_every_column_of_texts_holds_one_that_was_made(made: Made) -> None:
    """A new column is found here."""
    words = [word_of(name).lower() for name in WAYS]
    with closing(apsw.Connection(str(made.folder / "a.db"))) as connection:
        empty = set()
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({table})").fetchall():
                values = [str(value).lower() for (value,) in connection.execute(f"SELECT {column} FROM {table}")]
                known = not {column, f"{table}.{column}"}.isdisjoint(NO_TEXT | NAMES | KEYS)
                if kind == "TEXT" and not known and not any(word in value for value in values for word in words):
                    empty.add(f"{table}.{column}")
    assert sorted(empty) == [], " ".join(sorted(empty))
