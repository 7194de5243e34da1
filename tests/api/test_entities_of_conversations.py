"""Entities of conversations: what messages mention is one entity under every form of its name, and is found by each."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from germane import Agent, sync
from germane.errors import NotFound
from germane.extraction.archetypes.findings import Findings
from germane.extraction.archetypes.value import Archetype, ContextWeights
from germane.kinds.graph.value import Entity, EntityFinding, EntityName, RelationFinding
from germane_testing.builders import Hashed
from support.calendar import Opening

TALK = [
    "I had lunch with Caroline Baker today, my colleague.",
    "My sister Hannah says hi. I talked to Caro yesterday, and Caro lives in Lisbon now.",
]


async def _recorded(agent: Agent, *texts: str, speaker: str = "Jon") -> tuple[Entity, ...]:
    """The people that are known after these messages, one call each."""
    for number, text in enumerate(texts):
        await agent.record([{"role": "user", "name": speaker, "content": text, "id": f"m{number}"}], session="s")
    return (await agent.graph.list("person")).entities


@pytest.mark.requirement("GRAPH-2")
async def test_a_short_form_in_a_later_message_is_the_same_person(opening: Opening) -> None:
    """Caro after Caroline: one entity, with the alias, in the mentions of both messages; relations hang on it."""
    async with opening(entities=True) as germane:
        agent = germane.agent("x", user="jon")
        people = await _recorded(agent, *TALK)
        assert sorted(one.name for one in people) == ["Caroline Baker", "Hannah", "Jon"]
        (caroline,) = await agent.graph.find("Caro")
        assert (caroline.name, caroline.aliases, caroline.mentions) == ("Caroline Baker", ("Caro",), 2)
        for name in ("caroline baker", "Caroline Baker's", "Caroline", "Dr. Baker"):
            assert await agent.graph.find(name) == (caroline,), name
        assert await agent.graph.find("Caroline", "place") == ()
        stated = [(one.type, one.target) for one in await agent.graph.relations("Caro") if one.source == caroline.id]
        (lisbon,) = await agent.graph.find("Lisbon")
        assert ("lives_in", lisbon.id) in stated


@pytest.mark.requirement("GRAPH-2")
async def test_people_with_one_first_name_stay_apart(opening: Opening) -> None:
    """Two surnames make two people; the first name alone is of neither, however often it is said."""
    async with opening(entities=True) as germane:
        agent = germane.agent("x", user="jon")
        said = ["I met Caroline Baker.", "I met Caroline Smith.", "I met Caroline.", "I met Caroline again."]
        people = await _recorded(agent, *said[:2])
        assert [one.name for one in people] == ["Caroline Baker", "Caroline Smith", "Jon"]
        assert await agent.graph.find("Caro") == ()
        with pytest.raises(NotFound):
            await agent.graph.relations("Caro")
        people = await _recorded(agent, *said)
        assert [one.name for one in people][:1] == ["Caroline"]
        assert [one.aliases for one in people if " " in one.name] == [(), ()]
        assert sum(one.name == "Caroline" for one in people) == 1


@pytest.mark.requirement("GRAPH-2")
async def test_a_short_form_goes_with_the_only_message_that_said_the_name(opening: Opening) -> None:
    """Forgetting a message takes the names that it alone used, and their short forms, out of the index."""
    async with opening(entities=True) as germane:
        agent = germane.agent("x", user="jon")
        await _recorded(agent, "I met Caroline Baker.", "I met Caroline.")
        first = (await agent.graph.mentions("Baker"))[-1]
        await agent.forget([first])
        (left,) = await agent.graph.find("Caroline")
        assert (left.name, left.aliases) == ("Caroline", ())
        assert await agent.graph.find("Baker") == ()


async def test_short_forms_stand_in_no_listing(agent: Agent) -> None:
    """The listing by prefix has the names, once each."""
    one = await agent.graph.add("person", "Caroline Baker")
    assert (await agent.graph.list(prefix="caro")).entities == (one,)
    for prefix in ("~", "~caro", "baker"):
        assert (await agent.graph.list(prefix=prefix)).entities == (), prefix
    assert await agent.graph.add("person", "Caroline") != one, "what is added on purpose is found by whole names"


async def test_another_users_people_are_no_candidates(opening: Opening) -> None:
    """A short form is that of one's own people alone."""
    async with opening(entities=True) as germane:
        await _recorded(germane.agent("x", user="a"), "I met Caroline Baker.")
        other = germane.agent("x", user="b")
        people = await _recorded(other, "I met Caroline.")
        assert [(one.name, one.user) for one in people] == [("Caroline", "b"), ("Jon", "b")]
        assert await other.graph.find("Baker") == ()


def _unsure(name: str, confidence: float) -> Archetype:
    """An archetype that finds a person in every event, more or less surely."""
    found = Findings(entities=(EntityFinding(type="person", name=name, confidence=confidence),))
    weights = ContextWeights(recency=0.3, relevance=0.5, salience=0.2)
    return Archetype(name="own", extractors={"people": lambda *_: found}, weights=weights, shares={"semantic": 100})


@pytest.mark.requirement("GRAPH-4")
async def test_what_is_unsure_counts_only_where_it_is_known(agent: Agent) -> None:
    """Below 0.7 a finding makes no entity, and is a mention of one that is known under any form of the name."""
    assert (await agent.events.record("note", "a", session="s", archetype=_unsure("Allegra", 0.69))).entities == ()
    assert await agent.graph.find("Allegra") == ()
    (sure,) = (await agent.events.record("note", "b", session="s", archetype=_unsure("Allegra Stone", 0.7))).entities
    (again,) = (await agent.events.record("note", "c", session="s", archetype=_unsure("Allegra", 0.5))).entities
    assert (again.id, again.aliases) == (sure.id, ("Allegra",))


@pytest.mark.requirement("GRAPH-4")
async def test_two_names_of_one_person_dont_relate_to_each_other(agent: Agent) -> None:
    """What holds between Caroline and Caro isn't a relation of Caroline to herself."""
    ends = EntityName("person", "Caroline"), EntityName("person", "Caro")
    found = Findings(relations=(RelationFinding(source=ends[0], type="knows", target=ends[1]),))
    weights = ContextWeights(recency=0.3, relevance=0.5, salience=0.2)
    own = Archetype(name="own", extractors={"people": lambda *_: found}, weights=weights, shares={"semantic": 100})
    recorded = await agent.events.record("note", "a", session="s", archetype=own)
    assert [one.aliases for one in recorded.entities] == [("Caro",)]
    assert recorded.relations == ()


@pytest.mark.requirement("GRAPH-2")
@pytest.mark.parametrize(
    ("said", "begins", "ends"),
    [
        ("I work at Siemens since 2021.", (2021, 1), None),
        ("I work at Siemens since March 2023.", (2023, 3), None),
        ("I work at Siemens until June 2031.", None, (2031, 6)),
        ("I work at Siemens since ages.", None, None),
        ("I work at Siemens since 2031.", None, None),
    ],
)
async def test_relations_hold_as_long_as_the_text_says(
    opening: Opening, said: str, begins: tuple[int, int] | None, ends: tuple[int, int] | None
) -> None:
    """`since` and `until` are the validity, from the first day on; what can't be read or is to come begins with the text."""
    async with opening(entities=True) as germane:
        agent = germane.agent("x", user="jon")
        await _recorded(agent, said)
        (one,) = await agent.graph.relations("Siemens")
        (event,) = (await agent.messages("s")).messages
        assert one.type == "works_at"
        assert one.valid_from == (event.created_at if begins is None else datetime(*begins, 1, tzinfo=UTC))
        assert one.valid_to == (None if ends is None else datetime(*ends, 1, tzinfo=UTC))


async def test_a_relation_whose_end_cant_be_read_is_left_out(opening: Opening) -> None:
    """It would hold for ever."""
    async with opening(entities=True) as germane:
        agent = germane.agent("x", user="jon")
        await _recorded(agent, "I work at Siemens until spring.")
        assert await agent.graph.relations("Siemens") == ()


@pytest.mark.requirement("GRAPH-2")
def test_the_blocking_twin_finds_the_same(tmp_path: Path) -> None:
    """`germane.sync`: a conversation, a short form, the relations."""
    with sync.Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False, entities=True) as germane:
        agent = germane.agent("x", user="jon")
        for text in TALK:
            agent.record([{"role": "user", "name": "Jon", "content": text}], session="s")
        (caroline,) = agent.graph.find("Caro")
        assert (caroline.name, caroline.aliases) == ("Caroline Baker", ("Caro",))
        (lisbon,) = agent.graph.find("Lisbon")
        assert lisbon.id in [one.target for one in agent.graph.relations("Caro")]
