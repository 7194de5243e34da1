"""Kinds: what a kind has to say of itself is complete, so that a table or a field that is forgotten is found."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields
from importlib.resources import files
from typing import get_args

from germane.kinds.memories.value import IdsByKind
from germane.stores.sql import kinds
from germane.stores.sql.kinds import KINDS, TABLES
from germane.stores.sql.links import MADE
from germane.transfer.contents import Contents
from germane.types.inventory import StoredKind, TombstoneKind

_PART_OF = {
    **dict.fromkeys(("links", "memory_tags"), "a memory"),
    **dict.fromkeys(("units_memories", "units_events", "units_parts", "units_blocks"), "what is searched"),
    "entity_names": "an entity",
    "pattern_words": "a pattern",
    "telling_clauses": "a message",
    "llm_usage": "no stored thing: numbers of tokens by day",
    "derivations": "what was made of other things (`links.py`)",
    "tombstones": "what is left of all kinds",
}
"""Tables with a partition that belong to no kind by themselves, and what their rows are part of."""


def partitioned() -> set[str]:
    """The tables of the schema that have a column for the partition."""
    text = (files("germane.stores.sqlite") / "schema.sql").read_text("utf-8")
    tables = re.findall(r'^CREATE TABLE "?(\w+)"? \((.*?)\)[^()\n]*;$', text, re.MULTILINE | re.DOTALL)
    return {name for name, columns in tables if re.search(r"^\s*partition\b|, partition\b", columns, re.MULTILINE)}


def test_each_table_of_owned_rows_belongs_to_a_kind() -> None:
    """A new one is named by its kind, or above."""
    named = [table.name for table in TABLES if table.owner == "partition"]
    assert {name for name, count in Counter(named).items() if count > 1} == set()
    assert partitioned() == {*named, *_PART_OF}


def test_each_field_of_ids_belongs_to_one_kind() -> None:
    named = Counter(kind.ids for kind in KINDS if kind.ids)
    assert named == Counter(field.name for field in fields(IdsByKind))


def test_each_word_for_what_is_stored_stands_for_one_table() -> None:
    """Also of tombstones: entries have those of blocks."""
    assert Counter(kinds.WITH_IDS.values()) == Counter(what for one in get_args(StoredKind) for what in _words(one))
    assert Counter(kinds.TOMBSTONE_KINDS.values()) == Counter(get_args(TombstoneKind))


def test_each_field_of_contents_is_counted_once() -> None:
    """Tombstones and the latest time are of all kinds."""
    counted = [table.exported for table in TABLES if table.exported]
    counted += [name for kind in KINDS for name in kind.contents]
    assert Counter(counted) == Counter({field.name for field in fields(Contents)} - {"tombstones", "latest"})


def test_what_may_be_made_of_other_things_is_known_to_the_derivations() -> None:
    """A bridge is followed as long as none of these tables has its id."""
    assert {kind.made for kind in KINDS if kind.made} == set(MADE)


def test_places_and_findings_have_names_of_their_own() -> None:
    """Of two with the same name one would be lost."""
    for names in ([place for kind in KINDS for place in kind.remains], [one for kind in KINDS for one in kind.orphans]):
        assert {name for name, count in Counter(names).items() if count > 1} == set()


def _words(one: object) -> tuple[str, ...]:
    return (one,) if isinstance(one, str) else get_args(one)
