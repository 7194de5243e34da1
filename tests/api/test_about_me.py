"""`me`, nobody at all and the user's name mean the same person, in many languages and with several people in one chat."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from germane import Agent, Germane
from germane.api.verbs.about import AboutEntity
from germane.errors import InvalidInput
from germane.stages.gather.about import is_oneself
from germane.types.query import Filters

pytestmark = pytest.mark.requirement("PERSON-7")
MARCH = datetime(2024, 3, 2, 9, tzinfo=UTC)


def said(text: str, name: str = "", days: int = 0, role: str = "user") -> dict[str, Any]:
    named = {"name": name} if name else {}
    return {"role": role, "content": text, "created_at": MARCH + timedelta(days=days), **named}


def shown(found: AboutEntity) -> tuple[list[str], list[str], list[str]]:
    return tuple([item.text for item in group] for group in (found.current, found.earlier, found.mentions))  # type: ignore[return-value]


async def shared_chat(germane: Germane, user: str) -> Agent:
    """Tom and Ana write in one chat; the assistant has a name as well."""
    agent = germane.agent("kitchen", user=user)
    talk = [
        said("I prefer tea to coffee.", "Tom"),
        said("I live in Linz. I love rye bread.", "Ana", 1),
        said("Tom, the kettle is on.", "Bot", 2, role="assistant"),
        said("The oven timer is broken again.", "Ana", 3),
        said("Could we grill the peppers?", "Tom", 4),
    ]
    await agent.record(talk, session="s")
    return agent


@pytest.mark.parametrize("name", [None, "me", "Myself", "I", "ich", "moi", "yo", "mí", "io", "eu", "я", "我", "私", "Caroline"])
async def test_whatever_the_user_calls_themselves_the_same_is_known(agent: Agent, name: str | None) -> None:
    """Nothing of it names the user: one memory, and one message. The user's id counts in any case."""
    await agent.record([said("Parcel 4711 came broken.")], session="monday")
    await agent.remember("Prefers e-mail to phone calls", kind="preference")
    found = await agent.about(name)
    assert shown(found) == (["Prefers e-mail to phone calls"], [], ["Parcel 4711 came broken."])
    assert (found.name, found.hints) == (name or "caroline", ())
    assert found.text == (await agent.about()).text


async def test_the_name_that_the_user_gave_is_the_users(germane: Germane) -> None:
    """Whole or its first word; and as before, what names the user is about the user."""
    agent = germane.agent("a", user="u-4711")
    talk = [said("My name is Fatma Kaya. I live in Izmir."), said("Good morning, Fatma Kaya!", days=1, role="assistant")]
    await agent.record(talk, session="s")
    for name in (None, "Fatma", "fatma kaya", "u-4711"):
        current, _, mentions = shown(await agent.about(name))
        assert "user home: Izmir" in current, name
        assert "Good morning, Fatma Kaya!" in mentions, name


async def test_the_only_one_who_speaks_is_the_user(germane: Germane) -> None:
    agent = germane.agent("a", user="u-4711")
    await agent.record([said("The boiler hums.", "Mina"), said("Which boiler?", "Bot", role="assistant")], session="s")
    await agent.remember("Rents the upper floor")
    for name in (None, "Mina", "me"):
        assert shown(await agent.about(name)) == (["Rents the upper floor"], [], ["The boiler hums."])
    assert (await agent.about("Bot")).current == ()


async def test_what_ended_has_its_dates_and_a_time_can_be_asked_about(agent: Agent) -> None:
    for city, days in (("Graz", 0), ("Linz", 30)):
        await agent.remember(city, kind="fact", key="user.home", valid_from=MARCH + timedelta(days=days))
    await agent.record([said("The move took two days.", days=31)], session="s")
    home, moved = "user home: Graz (2024-03-02 to 2024-04-01)", "The move took two days."
    assert shown(await agent.about("me")) == (["user home: Linz"], [home], [moved])
    assert shown(await agent.about("me", at=MARCH + timedelta(days=3))) == (["user home: Graz"], [], [])


async def test_of_two_in_one_chat_each_is_known_by_name(germane: Germane) -> None:
    """Where the chat is the account of both, `me` is both of them, and the names are told."""
    agent = await shared_chat(germane, "the flat")
    tom, ana, both = [await agent.about(name) for name in ("Tom", "ana", "me")]
    assert [item.text for item in tom.current] == ["Tom: I prefer tea to coffee"]
    assert "Could we grill the peppers?" in shown(tom)[2]
    assert not any(word in text for group in shown(tom) for text in group for word in ("Linz", "rye", "oven"))
    assert "ana home: Linz" in shown(ana)[0]
    assert set(shown(tom)[0]) | set(shown(ana)[0]) == set(shown(both)[0])
    assert {"Could we grill the peppers?", "The oven timer is broken again."} <= set(shown(both)[2])
    assert set(both.hints) == {"Tom", "Ana"}


async def test_where_one_of_two_is_the_user_me_is_that_one(germane: Germane) -> None:
    agent = await shared_chat(germane, "tom")
    await agent.remember("Sings in a choir")
    await agent.record([said("What shall we cook?", days=6)], session="s")  # without a name: the user's
    found = await agent.about("me")
    assert set(shown(found)[0]) == {"Sings in a choir", "Tom: I prefer tea to coffee"}
    assert "What shall we cook?" in shown(found)[2]
    assert not any(word in text for group in shown(found) for text in group for word in ("Linz", "rye", "oven"))
    assert found.hints == ()
    assert found.text == (await agent.about("Tom")).text


async def test_a_word_for_oneself_that_is_a_name_here_stays_a_name(germane: Germane) -> None:
    """A speaker or an entity has it; and capitals within a word make it a name."""
    agent = germane.agent("a", user="u")
    await agent.record([said("The boiler hums.", "Ana"), said("I repaired it.", "Yo", 1)], session="s")
    assert "The boiler hums." in shown(await agent.about("ich"))[2]
    assert "The boiler hums." not in shown(await agent.about("Yo"))[2]
    await agent.graph.add("place", "Io")
    assert (await agent.about("Io")).mentions == ()
    assert [is_oneself(word) for word in ("eu", "Eu", "EU", "MiG", "mig", "I", " me  myself ", "home", "")] == [
        True, True, False, False, True, True, True, False, False,
    ]  # fmt: skip


async def test_facts_of_others_and_of_all_users_are_not_the_users(germane: Germane) -> None:
    """Whose a fact is that rules found, its key says. What is agent-wide is about the user where it names the user."""
    agent = germane.agent("a", user="paul")
    await germane.agent("a").remember("Office closes at five")
    await agent.record([said("Marta lives in Trento. I live in Bozen.")], session="s")
    assert shown(await agent.about())[0] == ["user home: Bozen"]
    assert shown(await germane.agent("a").about())[0] == ["Office closes at five"]
    assert (await germane.agent("a", user="ada").about()).text == ""


async def test_sensitive_memories_and_messages_need_to_be_asked_for(agent: Agent) -> None:
    await agent.remember("Takes lithium", sensitivity="sensitive")
    assert (await agent.about("me")).text == ""
    assert shown(await agent.about("me", filters=Filters(sensitivities=("sensitive",))))[0] == ["Takes lithium"]


@pytest.mark.parametrize("most", [1, 40, 90, 300])
async def test_the_text_is_never_above_its_tokens(agent: Agent, most: int) -> None:
    """Memories go in before messages, and the latest messages before older ones."""
    await agent.record(
        [said(f"Note {number}: the shelf holds {number} jars.", days=number) for number in range(40)], session="s"
    )
    await agent.remember("Collects stamps")
    found = await agent.about("me", max_tokens=most)
    assert found.tokens <= most
    assert bool(found.current) == (most >= 40)
    if found.mentions:
        assert found.mentions[-1].text.startswith("Note 39")


async def test_blank_names_are_refused(agent: Agent) -> None:
    with pytest.raises(InvalidInput, match="leave it out"):
        await agent.about(" ")
