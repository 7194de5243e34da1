"""Aliases: which names are one thing. Ambiguity never merges."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane import Germane
from germane.kinds.graph import aliases
from germane.kinds.graph.aliases import MAX_KEYS, Resolution, index_keys, lookup_keys, name_key, resolve
from germane.kinds.graph.value import ENTITY_TYPES

pytestmark = pytest.mark.requirement("GRAPH-2")


@dataclass(frozen=True, slots=True)
class Thing:
    id: str
    type: str
    name: str
    aliases: tuple[str, ...] = ()


def _resolved(name: str, type: str, *known: Thing) -> Resolution[Thing]:
    index = defaultdict[str, list[Thing]](list)
    for one in known:
        for key in {key for of in (one.name, *one.aliases) for key in index_keys(of, one.type)}:
            index[key].append(one)
    return resolve(name, type, {key: index[key] for key in lookup_keys(name, type)})


def _people(*names: str) -> list[Thing]:
    return [Thing(name, "person", name) for name in names]


@pytest.mark.parametrize(
    ("one", "other", "type"),
    [
        ("Caroline", "CAROLINE's", "person"),
        ("Dr. Wéber", "weber", "person"),
        ("Siemens AG", "Siemens", "organisation"),
        ("The Acme, Inc.", "acme", "organisation"),
        ("#318", "GH-318", "ticket"),
        ("SUP-1", "sup-1", "ticket"),
        ("HTTP 404", "404 Not Found", "error"),
        ("exit code 137", "exit status: 137", "error"),
        ("Postgres", "PostgreSQL", "tool"),
        ("7 May 2023", "2023-05-07", "date"),
        ("run()", "`run`", "symbol"),
        ("HTTPS://A.example/x/", "https://a.example/x", "url"),
        ("NYC", "New York", "place"),
        ("./src/a.py", "src\\a.py", "file"),
    ],
)
def test_spellings_of_a_name_have_one_key(one: str, other: str, type: str) -> None:
    """Case, accents, titles, legal forms, marks of tickets, and the commonest other names."""
    assert name_key(one, type) == name_key(other, type) != ""


@pytest.mark.parametrize(
    ("one", "other", "type"),
    [
        ("Foo", "foo", "symbol"),
        ("https://a.example/x", "https://a.example/X", "url"),
        ("04/05/2023", "05/04/2023", "date"),
        ("ABC-1", "ABC-11", "ticket"),
        ("a/x.py", "b/x.py", "file"),
    ],
)
def test_what_is_not_the_same_has_another_key(one: str, other: str, type: str) -> None:
    """Symbols and paths of urls know case; a date in figures isn't guessed."""
    assert name_key(one, type) != name_key(other, type)


@pytest.mark.parametrize(
    ("name", "known", "type"),
    [
        ("Caro", "Caroline", "person"),
        ("Caroline", "Caro", "person"),
        ("Bob", "Robert", "person"),
        ("Bob Haldane", "Robert Haldane", "person"),
        ("Haldane", "Robert Haldane", "person"),
        ("Robert Haldane", "Haldane", "person"),
        ("Ms Haldane", "Robert Haldane", "person"),
        ("Fiona", "Fiona Ashby", "person"),
        ("Дима", "Дмитрий", "person"),
        ("IBM", "International Business Machines", "organisation"),
        ("International Business Machines", "IBM", "organisation"),
        ("Northwind", "Northwind Logistics", "organisation"),
        ("main.py", "src/app/main.py", "file"),
        ("src/app/main.py", "main.py", "file"),
        ("9f3ab21", "9f3ab21c0de", "commit"),
    ],
)
def test_a_short_form_of_the_only_one_that_fits_is_merged(name: str, known: str, type: str) -> None:
    """In either order."""
    assert _resolved(name, type, Thing("1", type, known)).decision == "merge"


@pytest.mark.parametrize(
    ("name", "known", "type"),
    [
        ("Maria", "Mariana", "person"),
        ("Anna Weber", "Anna Schmidt", "person"),
        ("Tom Haldane", "Robert Haldane", "person"),
        ("Bank", "Bank of England", "organisation"),
        ("University", "University of Leeds", "organisation"),
        ("Boston", "Boston Consulting Group", "organisation"),
        ("b/main.py", "a/main.py", "file"),
        ("Caroline", "Caroline", "place"),
        ("https://a.example/x/y", "https://a.example/x", "url"),
    ],
)
def test_what_contradicts_is_new(name: str, known: str, type: str) -> None:
    """A name that only begins alike, another surname, a word that many names have, another type."""
    assert _resolved(name, type, Thing("1", "person" if type == "place" else type, known)).decision == "new"


def test_several_that_fit_are_ambiguous_and_not_merged() -> None:
    """The candidates are named, and the name makes an entity of its own."""
    resolution = _resolved("Caro", "person", *_people("Caroline Ashworth", "Carolina Diaz"))
    assert (resolution.decision, resolution.entity, len(resolution.candidates)) == ("ambiguous", None, 2)
    assert _resolved("Haldane", "person", *_people("Robert Haldane", "Anna Haldane")).decision == "ambiguous"
    assert _resolved("Bob", "person", *_people("Robert Haldane", "Bob Smith")).decision == "ambiguous"
    assert (
        _resolved("main.py", "file", Thing("1", "file", "a/main.py"), Thing("2", "file", "b/main.py")).decision == "ambiguous"
    )


def test_a_name_that_looks_like_a_short_form_reaches_nobody() -> None:
    """Keys of short forms begin with `~`; a name that begins so is another name."""
    assert _resolved("~anna", "person", *_people("Anna Weber")).decision == "new"
    assert _resolved("~main.py", "file", Thing("1", "file", "src/main.py")).decision == "new"


def test_a_known_name_or_alias_comes_before_short_forms() -> None:
    """Caro is Caroline by her alias, though Carola could be called so too."""
    known = [Thing("1", "person", "Caroline Ashworth", ("Caro",)), *_people("Carola")]
    resolution = _resolved("caro", "person", *known)
    assert resolution.entity == known[0]


def test_an_entity_whose_other_names_contradict_does_not_fit() -> None:
    """`Gregory Palmer` was called `Palmer` too; Anna Palmer is somebody else."""
    assert _resolved("Anna Palmer", "person", Thing("1", "person", "Palmer", ("Gregory Palmer",))).decision == "new"


def test_ten_thousand_known_entities_are_looked_up_and_not_walked() -> None:
    """Only what stands under the name's own keys is read; of a crowd under one key two suffice."""
    read = list[str]()

    class Index(dict[str, list[Thing]]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            read.append(key)
            return super().get(key, [])

    crowd = [Thing(str(number), "person", f"Anna N{number}") for number in range(10_000)]
    assert resolve("Anna", "person", Index({"~anna": crowd})).decision == "ambiguous"
    assert len(read) <= MAX_KEYS + 1


def test_a_name_of_ten_thousand_characters_is_itself_alone() -> None:
    """It has one short key, and equals no other that begins alike."""
    long = "Anna " * 2_000
    assert index_keys(long, "person") == lookup_keys(long, "person") == (name_key(long, "person"),)
    assert len(name_key(long, "person")) < 200
    assert name_key(long, "person") != name_key(long + "x", "person")


@given(st.text(max_size=60), st.sampled_from(ENTITY_TYPES))
def test_any_name_finds_itself(name: str, type: str) -> None:
    """Keys are few, a stored name is found by itself, and a blank one by nothing."""
    assert len(index_keys(name, type)) <= MAX_KEYS
    assert len(lookup_keys(name, type)) <= MAX_KEYS
    expected = "merge" if name_key(name, type) else "new"
    assert _resolved(name, type, Thing("1", type, name)).decision == expected


def test_an_own_name_counts_before_an_alias() -> None:
    """Else each mention of a name that two entities have would make one more entity."""
    caroline, caro = Thing("a", "person", "Caroline", ("Caro",)), Thing("b", "person", "Caro")
    assert _resolved("CARO", "person", caroline, caro).entity is caro
    other = Thing("c", "person", "Carola", ("Caro",))
    assert _resolved("Caro", "person", caroline, other).decision == "ambiguous"


@pytest.mark.requirement("MEM-3")
async def test_no_name_stays_in_memory_after_forgetting() -> None:
    """The cache of name keys, which all scopes share, is emptied by whatever is forgotten."""
    async with Germane.open(":memory:", warm=False) as germane:
        agent = germane.agent("names")
        made = await agent.graph.add("person", "Wilhelmina Canary")
        assert aliases._key.cache_info().currsize
        await agent.graph.forget([made.id])
        assert aliases._key.cache_info().currsize == 0
