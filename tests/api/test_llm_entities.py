"""Entities with a language model: which messages it is asked about, what is stored, and what a failure costs (GRAPH-2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from germane import LLMError
from germane.api.agent import Agent
from germane_testing.time_warp import Ticking
from support.llm_store import Opening, opening_in, standing_clock
from support.scripted_llm import ScriptedLLM, entry, listed

pytestmark = pytest.mark.requirement("GRAPH-2")

SAID = "Zorblatt runs the Quux bakery with my sister."
TALK = [{"role": "user", "content": SAID, "name": "Ana"}, {"role": "assistant", "content": "Zorblatt owns Flimflam too."}]
LOVES = entry("Zorblatt runs the Quux bakery.")


@pytest.fixture
def time() -> Ticking:
    return standing_clock()


@pytest.fixture
def opening(tmp_path: Path, time: Ticking) -> Opening:
    return opening_in(tmp_path, time, entities=True)


def _graph(*relations: tuple[str, str, str, str], **entities: str) -> str:
    """An answer with entities by name (as `name=type`) and relations (source, type, target, quote)."""
    return json.dumps(
        {
            "entities": [{"type": type, "names": [name]} for name, type in entities.items()],
            "relations": [
                {"source": source, "type": kind, "target": target, "quote": quote, "confidence": 0.7}
                for source, kind, target, quote in relations
            ],
        }
    )


RUNS = _graph(("Zorblatt", "runs", "Quux", "Zorblatt runs the Quux bakery"), Zorblatt="person", Quux="organisation")
OWNS = _graph(("Zorblatt", "owns", "Flimflam", "Zorblatt owns Flimflam"), Zorblatt="person", Flimflam="organisation")
NOTHING = _graph()


class GraphLLM(ScriptedLLM):
    """Answers questions about memories with `memories`, and those about entities by what the text says."""

    def __init__(self, *memories: Any, **answers: Any) -> None:
        super().__init__(*memories)
        self.answers = {"runs the Quux": RUNS, "Flimflam": OWNS, **answers}
        self.asked: list[str] = []

    async def complete(self, system: str, prompt: str, *, max_tokens: int, schema: Any = None) -> Any:
        if "entities" not in (schema or {}).get("properties", {}):
            return await super().complete(system, prompt, max_tokens=max_tokens, schema=schema)
        self.asked.append(prompt)
        said = json.loads(prompt.splitlines()[1])["text"]
        answer = next((one for words, one in self.answers.items() if words in said), NOTHING)
        return await ScriptedLLM(answer).complete(system, prompt, max_tokens=max_tokens, schema=schema)


async def _names(agent: Agent) -> set[tuple[str, str]]:
    return {(one.type, one.name) for one in (await agent.graph.list()).entities}


async def _relations(agent: Agent) -> set[tuple[str, tuple[str, ...]]]:
    return {(one.type, one.refs) for one in await agent.graph.relations("Zorblatt")}


async def test_entities_and_relations_that_the_model_finds_are_stored_with_their_message(opening: Opening) -> None:
    """What no rule knows is found, tied to its message; an assistant's message gives entities, and no relation."""
    async with opening(GraphLLM(listed(LOVES))) as germane:
        agent = germane.agent(user="ana")
        recorded = await agent.record(TALK, session="s")
        before = await _names(agent)
        run = await agent.extract()
        assert not {("person", "Zorblatt"), ("organisation", "Quux")} & before
        assert {("person", "Zorblatt"), ("organisation", "Quux"), ("organisation", "Flimflam")} <= await _names(agent)
        assert await _relations(agent) == {("runs", (recorded.added[0],))}
        assert (run.messages, run.memories, run.calls, run.entities) == (2, 1, 3, 4)
        await agent.forget(ids=list(recorded.added))
        assert ("person", "Zorblatt") not in await _names(agent)


async def test_nothing_is_asked_where_entities_are_off(opening: Opening) -> None:
    """The switch for entities of messages concerns the model too."""
    llm = GraphLLM(listed(LOVES))
    async with opening(llm, entities=False) as germane:
        agent = germane.agent(user="ana")
        await agent.record(TALK, session="s")
        assert (await agent.extract()).calls == 1
    assert llm.asked == []


async def test_a_message_forgotten_meanwhile_leaves_no_entity(opening: Opening) -> None:
    """An answer about a message that is gone is dropped, and the others are kept."""
    llm = GraphLLM()
    async with opening(llm) as germane:
        agent = germane.agent(user="ana")
        recorded = await agent.record(TALK, session="s")

        async def meanwhile(prompt: str) -> str:
            await agent.forget(ids=[recorded.added[1]])
            return OWNS

        llm.answers["Flimflam"] = meanwhile
        await agent.extract()
        assert ("organisation", "Quux") in await _names(agent)
        assert ("organisation", "Flimflam") not in await _names(agent)


@pytest.mark.parametrize("fault", ["I can't help with that.", LLMError("refused", spent=(100, 20)), RuntimeError("bug")])
async def test_a_message_that_the_model_fails_on_costs_no_memory(opening: Opening, fault: Any) -> None:
    """The memories and the other message's entities are stored; the fault is counted, and nothing is asked again."""
    llm = GraphLLM(listed(LOVES), Flimflam=fault)
    async with opening(llm) as germane:
        agent = germane.agent(user="ana")
        await agent.record(TALK, session="s")
        run = await agent.extract()
        assert (run.messages, run.memories, run.rejected, run.failed) == (2, 1, 1, 0)
        assert run.input_tokens == 200 + 100 * (not isinstance(fault, RuntimeError))
        assert ("organisation", "Quux") in await _names(agent)
        assert (await agent.extract()).calls == 0


async def test_an_endpoint_that_fails_leaves_the_messages_waiting(opening: Opening) -> None:
    """Nothing is stored, and the whole run is read again when the endpoint answers."""
    llm = GraphLLM(listed(LOVES), listed(LOVES), Flimflam=LLMError("away", of_endpoint=True))
    async with opening(llm) as germane:
        agent = germane.agent(user="ana")
        await agent.record(TALK, session="s")
        assert (await agent.extract()).stopped == "away"
        assert ("organisation", "Quux") not in await _names(agent)
        llm.answers["Flimflam"] = OWNS
        run = await agent.extract()
        assert (run.messages, run.memories) == (2, 1)
        assert ("organisation", "Flimflam") in await _names(agent)


async def test_what_rules_and_model_both_find_is_one_entity_used_once(opening: Opening) -> None:
    """A message that was read by the rules makes an entity no more salient when the model reads it."""
    caroline = _graph(Caroline="person")
    async with opening(GraphLLM(Caroline=caroline)) as germane:
        agent = germane.agent(user="ana")
        await agent.record([{"role": "user", "content": "I met Caroline and Dr. Caroline Weber in Berlin."}], session="s")
        await agent.record([{"role": "user", "content": "Caroline called me from Berlin."}], session="s")
        before = {one.name: one.salience for one in (await agent.graph.list()).entities}
        await agent.extract()
        after = {one.name: one.salience for one in (await agent.graph.list()).entities}
    assert before == after


async def test_messages_of_one_run_share_their_entities(opening: Opening) -> None:
    """A name in two messages of one run makes one entity that both mention."""
    talk = [{"role": "user", "content": f"{SAID} {number}"} for number in range(3)]
    async with opening(GraphLLM()) as germane:
        agent = germane.agent(user="ana")
        await agent.record(talk, session="s")
        await agent.extract()
        (zorblatt,) = await agent.graph.find("Zorblatt")
    assert zorblatt.mentions == 3
