"""Nobody is told what another said: not in a context, not in a search, a listing, an export, nor by what an error says."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations, product

import pytest

from germane import Agent, Filters, Germane, NotFound
from support.calendar import Calendar
from support.stories import ask

EVERYTHING = Filters(sensitivities=("public", "private", "sensitive"), with_ended=True)
WHO = {
    "anna": {"user": "anna"},
    "ben": {"user": "ben"},
    "anna elsewhere": {"agent": "sales", "user": "anna"},
    "anna of another org": {"org": "rival", "user": "anna"},
    "nobody of another org": {"org": "rival"},
    "nobody of another agent": {"agent": "sales"},
}


def of(germane: Germane, **scope: str) -> Agent:
    return germane.agent(**{"org": "acme", "agent": "support"} | scope)


@pytest.fixture
async def agents(germane: Germane) -> dict[str, Agent]:
    """Each with a directive, a memory and a message of its own, all of which hold its canary and the word Biscuit."""
    found = {name: of(germane, **scope) for name, scope in WHO.items()}
    for name, agent in found.items():
        canary = f"canary-{name.replace(' ', '-')}."
        await agent.directive(f"Directive {canary}")
        await agent.remember(f"Biscuit memory {canary}", tags=["dog"], pinned=True)
        await agent.remember("x", kind="fact", key=f"Biscuit fact {canary}", sensitivity="sensitive")
        await agent.record([{"id": "m1", "role": "user", "name": canary, "content": f"Biscuit {canary}"}], session="s1")
    return found


async def everything_seen(agent: Agent) -> str:
    """All that any verb tells this scope."""
    seen: list[object] = [await agent.search("Biscuit canary", 100, filters=EVERYTHING)]
    seen += [one async for one in agent.export()]
    seen.append(await agent.memories.list(EVERYTHING, limit=1000))
    seen.append(await agent.directive())
    for session, strategy in product(("s1", "s2"), ("default", "verbose")):
        context = await ask(agent, "What about Biscuit canary?", session=session, filters=EVERYTHING, strategy=strategy)
        seen += [context, context.trace, context.explain(), context.to_openai()]
    return repr(seen)


@pytest.mark.requirement("SCOPE-1", "SCOPE-2")
@pytest.mark.parametrize("name", WHO)
async def test_a_scope_sees_its_own_and_no_canary_of_another(agents: dict[str, Agent], name: str) -> None:
    """Users, agents and orgs: in every verb that reads."""
    seen = await everything_seen(agents[name])
    canaries = {other for other in WHO if f"canary-{other.replace(' ', '-')}." in seen}
    wide = {"nobody of another agent"} if name == "anna elsewhere" else set()
    wide |= {"nobody of another org"} if name == "anna of another org" else set()
    assert canaries == {name} | wide


@pytest.mark.requirement("SCOPE-1")
async def test_what_is_agent_wide_is_seen_by_all_its_users_and_by_no_other_agent(germane: Germane) -> None:
    """And what a user said is not seen by the agent without one."""
    anna, ben, support, sales = (of(germane, **who) for who in ({"user": "anna"}, {"user": "ben"}, {}, {"agent": "sales"}))
    await anna.remember("Biscuit is Anna's alone")
    await anna.remember("Biscuit policy: dogs are welcome", agent_wide=True)
    for agent, expected in ((anna, 2), (ben, 1), (support, 1), (sales, 0)):
        assert len((await agent.memories.list()).memories) == expected
        assert len((await ask(agent, "Biscuit?")).items) == expected
    assert "Anna" not in await everything_seen(ben) + await everything_seen(support)


@pytest.mark.requirement("SCOPE-3")
async def test_absent_and_forbidden_look_alike(agents: dict[str, Agent]) -> None:
    """The same error with the same words, the same answer, the same receipt."""
    for mine, other in permutations(("anna", "ben", "anna of another org"), 2):
        theirs = (await agents[other].memories.list(EVERYTHING)).memories[0].id
        answers = []
        for id in (theirs, "00000000-0000-7000-8000-000000000000"):
            told = []
            for verb in (agents[mine].memories.get, agents[mine].memories.versions):
                with pytest.raises(NotFound) as raised:
                    await verb(id)
                told.append(str(raised.value).replace(id, "ID"))
            with pytest.raises(NotFound) as raised:
                await agents[mine].memories.update(id, "mine now")
            told.append(str(raised.value).replace(id, "ID"))
            told += [repr(await agents[mine].forget([id])), repr(await agents[mine].feedback([id]))]
            answers.append(told)
        assert answers[0] == answers[1]


@pytest.mark.requirement("SCOPE-2", "MEM-3")
async def test_forgetting_everything_of_one_takes_nothing_from_the_others(agents: dict[str, Agent]) -> None:
    """By everything, session, tag and the caller's own message id."""
    before = {name: await everything_seen(agent) for name, agent in agents.items() if name != "anna"}
    anna = agents["anna"]
    assert await anna.forget(session="s1")
    assert await anna.forget(tag="dog")
    assert not await anna.forget(["m1"])
    assert await anna.forget(everything=True)
    seen = await everything_seen(anna)
    assert "Biscuit memory canary-anna." not in seen
    assert "Biscuit canary-anna." not in seen
    for name in before:
        assert f"Biscuit memory canary-{name.replace(' ', '-')}." in await everything_seen(agents[name])


@pytest.mark.requirement("GATHER-5")
@pytest.mark.parametrize("strategy", ["default", "verbose", "compact", "composite"])
async def test_what_is_sensitive_is_not_injected_unless_allowed(agent: Agent, strategy: str) -> None:
    """Pinned or not; public and private are the default, and an empty allow-list allows nothing."""
    records = {"public": "Biscuit won a race", "private": "Biscuit sees the vet on Mondays", "sensitive": "Biscuit bit a guest"}
    for level, text in records.items():
        await agent.remember(text, sensitivity=level, pinned=level == "sensitive")
    await agent.record([{"role": "user", "content": "Biscuit barks"}], session="s1")

    async def levels(*allowed: str) -> list[str]:
        filters = None if allowed == ("default",) else Filters(sensitivities=allowed)  # type: ignore[arg-type]
        context = await ask(agent, "Biscuit?", strategy=strategy, filters=filters, session=None)
        assert not context.trace.left_out
        return sorted({item.scored.candidate.sensitivity for item in context.items})

    assert await levels("default") == ["private", "public"]
    assert await levels("sensitive") == ["sensitive"]
    assert await levels("public", "sensitive") == ["public", "sensitive"]
    assert await levels() == []


@pytest.mark.requirement("GATHER-6", "MEM-4")
async def test_what_was_superseded_or_has_expired_is_gathered_only_with_ended(agent: Agent, calendar: Calendar) -> None:
    """At the time asked about; what was forgotten never comes back, asked for or not."""
    await agent.remember("Lisbon", kind="fact", key="home city")
    gone = await agent.remember("My home city was once Atlantis")
    await agent.remember("My home city pass", expires_at=calendar.moment + timedelta(days=1))
    calendar.advance(days=2)
    await agent.remember("Porto", kind="fact", key="home city")
    await agent.forget([gone.id])
    calendar.advance(days=1)

    async def found(**options: object) -> set[str]:
        context = await ask(agent, "What is my home city?", session=None, **options)
        recalled = await agent.search("home city", **options)  # type: ignore[arg-type]
        texts = {one.candidate.text for one in recalled}
        assert texts == {item.scored.candidate.text for item in context.items}
        return {text.removeprefix("home city: ") for text in texts}

    assert await found() == {"Porto"}
    assert await found(at=calendar.moment - timedelta(days=2, hours=12)) == {"Lisbon", "My home city pass"}
    assert await found(filters=Filters(with_ended=True)) == {"Porto", "Lisbon", "My home city pass"}


@pytest.mark.requirement("MEM-3", "GATHER-6")
async def test_what_is_forgotten_is_in_no_later_answer(agent: Agent) -> None:
    """Memory and message, also where the same request was answered with them a moment before."""
    await agent.remember("Biscuit memory secret-5521")
    await agent.record([{"id": "m1", "role": "user", "content": "Biscuit message secret-5521"}], session="s1")
    for strategy in ("default", "compact"):
        assert len((await ask(agent, "Biscuit?", deadline=0.048, strategy=strategy)).messages) >= 1
    receipt = await agent.forget(everything=True)
    assert len(receipt) == 2
    for deadline, strategy in product((None, 0.048), ("default", "compact")):
        context = await ask(agent, "Biscuit?", deadline=deadline, filters=EVERYTHING, strategy=strategy)
        assert "secret-5521" not in f"{context} {context.messages} {context.trace}"
    assert "secret-5521" not in await everything_seen(agent)
