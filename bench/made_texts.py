"""Made texts: the ways in which a store comes to hold one text made of another, each with what somebody may ask to forget.

Each way is a room of its own (an agent with one user) whose texts hold a word that stands nowhere else. So whatever is left of
the word after a forgetting was kept by a writer that forgetting doesn't follow.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from germane import Agent, Germane
from germane.errors import ConsentNeeded
from germane.kinds.conversations.aliases import SessionAlias
from germane.kinds.documents.value import document_session
from germane.kinds.memories.consolidation import evict, merge
from germane.kinds.memories.upkeep import Eviction, Merged
from germane.types.candidate import Provenance
from germane.types.plan import Plan

__all__ = ["ORG", "WAYS", "Criteria", "Room", "lived_in"]

ORG = "made"
SESSION, CHANNEL, USER = "s", "slack", "u"
Criteria = Mapping[str, Any]
"""The arguments of one call of `forget`."""


@dataclass(slots=True)
class Room:
    """One way: its agent, for a user and agent-wide, and its word. `hows` are the calls of `forget` after each of which
    nothing of the word may be left, by their names."""

    germane: Germane
    name: str
    hows: dict[str, Criteria] = field(default_factory=dict)

    @property
    def word(self) -> str:
        return word_of(self.name)

    @property
    def agent(self) -> Agent:
        return self.germane.agent(self.name, org=ORG, user=USER)

    @property
    def wide(self) -> Agent:
        return self.germane.agent(self.name, org=ORG)

    async def say(self, text: str, *answers: str, session: str = SESSION, **fields: Any) -> str:
        """Records a message of the user's, and what was answered; returns the message's id."""
        messages = [{"role": "user", "content": text, **fields}, *({"role": "assistant", "content": one} for one in answers)]
        return (await self.agent.record(messages, session=session, channel=CHANNEL)).added[0]

    def said(self, id: str) -> None:
        """All is made of one message: it goes with the message, its session, its channel, and the kind of its source."""
        self.hows |= {
            "message": {"ids": [id]},
            "session": {"session": SESSION},
            "channel": {"channel": CHANNEL},
            "source_kind": {"source_kind": "user"},
        }

    async def commit(self, plan: Plan[Any]) -> Any:
        parts = self.germane._parts
        assert parts is not None
        return await parts.store.within(self.agent.scope).commit(plan)

    @property
    def now(self) -> Any:
        parts = self.germane._parts
        assert parts is not None
        return parts.clock.now()


Way = Callable[[Room], Awaitable[None]]
WAYS: dict[str, Way] = {}
"""Every way, by its name."""


def word_of(name: str) -> str:
    """A word of ten letters, the same in each run."""
    digest = hashlib.sha256(name.encode()).digest()
    return "Zq" + "".join(chr(97 + byte % 26) for byte in digest[:9])


def way(function: Way) -> Way:
    WAYS[function.__name__] = function
    return function


async def lived_in(germane: Germane, names: Sequence[str] = ()) -> dict[str, Room]:
    """Makes all texts at once, each way's in its room."""
    rooms = {name: Room(germane, name) for name in names or WAYS}
    await asyncio.gather(*(WAYS[name](room) for name, room in rooms.items()))
    for room in rooms.values():
        room.hows["everything"] = {"everything": True}
    return rooms


async def _stated(room: Room, text: str) -> None:
    room.said(await room.say(text.format(room.word), "I see."))


for _name, _text in {
    "message_alone": "Hello, it is about {} today",
    "fact_found": "My name is {}.",
    "place_found": "I live in {}.",
    "preference_found": "I prefer {} to tea.",
    "instruction_found": "Always call the project {}.",
    "episode_found": "Yesterday I went to {} with my brother.",
    "ending_found": "I no longer work at {}.",
    "correction_found": "Actually, my name is {}, not Peter.",
    "entity_found": "Anna {} works at Initech.",
    "relation_found": "Anna works at {} in Lisbon.",
    "long_message": "The report on {} says much. " + "It goes on and on about the boiler. " * 400,
}.items():

    def _of(text: str) -> Way:
        return lambda room: _stated(room, text)

    WAYS[_name] = _of(_text)


@way
async def made_of_a_message(room: Room) -> None:
    id = await room.say(f"We spoke of {room.word}")
    await room.agent.remember(f"A note on {room.word}", derived_from=[id])
    room.said(id)


@way
async def made_through_others(room: Room) -> None:
    id = await room.say(f"We spoke of {room.word}")
    first = await room.agent.remember(f"A note on {room.word}", derived_from=[id])
    second = await room.agent.remember(f"A summary of {room.word}", kind="procedure", derived_from=[first.id])
    await room.agent.remember(f"Another of {room.word}", kind="preference", derived_from=[second.id])
    room.said(id)
    room.hows["memory"] = {"ids": [id, first.id]}


@way
async def made_for_all_users(room: Room) -> None:
    id = await room.say(f"We spoke of {room.word}")
    await room.wide.remember(f"What a user said of {room.word}", derived_from=[id])
    room.said(id)


@way
async def note_of_episodes(room: Room) -> None:
    id = await room.say(f"I met {room.word} at the harbour")
    await room.agent.remember(f"We met {room.word} at the harbour.", kind="episode", derived_from=[id])
    await _consolidated(room)
    room.said(id)


@way
async def note_of_episodes_alone(room: Room) -> None:
    origin = Provenance(session=SESSION, channel=CHANNEL, message_id="m7")
    one = await room.agent.remember(f"We met {room.word}.", kind="episode", provenance=origin, tags=["harbour"])
    await _consolidated(room)
    room.said(one.id)
    room.hows |= {"tag": {"tag": "harbour"}, "callers_id": {"ids": ["m7"]}}


async def _consolidated(room: Room) -> None:
    for number in range(15):
        await room.agent.remember(f"Episode {number} in town {number}.", kind="episode")
    await room.agent.consolidate(max_memories=4)


@way
async def tags_of_merged(room: Room) -> None:
    id = await room.say("We spoke of the boiler")
    kept = await room.agent.remember("The boiler is old", tags=["boiler"])
    gone = await room.agent.remember("The boiler is quite old", tags=[room.word], derived_from=[id])
    await room.commit(merge([Merged(kept=kept.id, ids=(gone.id,))], at=room.now, by="me"))
    room.said(id)
    room.hows |= {"memory": {"ids": [gone.id]}, "tag": {"tag": room.word}}


@way
async def made_of_evicted(room: Room) -> None:
    id = await room.say("We spoke of the boiler")
    origin = Provenance(session=SESSION, channel=CHANNEL)
    gone = await room.agent.remember(room.word, kind="fact", key="k", derived_from=[id], provenance=origin)
    await room.agent.remember(f"A note on {room.word}", derived_from=[gone.id])
    await room.commit(evict([Eviction(id=gone.id, kind="fact", reason="least_valuable", worth=0)], at=room.now, by="me"))
    room.said(id)
    room.hows |= {"memory": {"ids": [gone.id]}, "key": {"key": "k"}}


@way
async def superseded_fact(room: Room) -> None:
    old = await room.agent.remember(room.word, kind="fact", key="home")
    await room.agent.remember("elsewhere", kind="fact", key="home")
    room.hows = {"memory": {"ids": [old.id]}, "key": {"key": "home"}}


@way
async def key_and_tag(room: Room) -> None:
    one = await room.agent.remember("a value", kind="fact", key=room.word, tags=[room.word])
    room.hows = {"memory": {"ids": [one.id]}, "key": {"key": room.word}, "tag": {"tag": room.word}}


@way
async def changed_memory(room: Room) -> None:
    one = await room.agent.remember("a first text")
    await room.agent.memories.update(one.id, f"a text on {room.word}")
    room.hows = {"memory": {"ids": [one.id]}}


@way
async def speaker(room: Room) -> None:
    room.said(await room.say("Hello there", name=room.word, id=f"id-{room.word}"))


@way
async def typed_event(room: Room) -> None:
    done = await room.agent.events.record("deploy", f"{room.word} to production", session=SESSION, outcome=room.word)
    assert done.event is not None
    room.hows = {"message": {"ids": [done.event.id]}, "session": {"session": SESSION}}


async def _fixed(room: Room, *, command: str = "pytest -q", error: str = "'port'", file: str = "app") -> list[str]:
    """A failure, an edit and a success, which are a pattern."""
    output = f'File "src/app.py", line 7, in start\nKeyError: {error}'
    steps: list[dict[str, Any]] = [
        {"type": "shell_exec", "content": {"command": command, "stdout": output}, "outcome": "exit 1"},
        {"type": "file_edit", "content": {"path": f"src/{file}.py", "old": "a", "new": "b"}},
        {"type": "shell_exec", "content": {"command": command, "stdout": "9 passed"}, "outcome": "success"},
    ]
    done = [await room.agent.events.record(**step, session=SESSION, archetype="coding") for step in steps]
    room.hows = {"session": {"session": SESSION}}
    return [one.event.id for one in done if one.event is not None]


@way
async def learned_from_a_command(room: Room) -> None:
    room.hows["message"] = {"ids": await _fixed(room, command=f"run {room.word}")}


@way
async def learned_from_an_error(room: Room) -> None:
    (id, _, _) = await _fixed(room, error=f"'{room.word}'")
    room.hows["message"] = {"ids": [id]}


@way
async def learned_from_an_edit(room: Room) -> None:
    (_, id, _) = await _fixed(room, file=room.word)
    room.hows["message"] = {"ids": [id]}


@way
async def outline(room: Room) -> None:
    id = await room.say(f"What of {room.word}?", f"{room.word} is well.")
    await room.say("And the weather?", "Fine.")
    room.hows = {"session": {"session": SESSION}, "channel": {"channel": CHANNEL}}
    assert id


@way
async def compaction(room: Room) -> None:
    said = [f"Tell me of {room.word} number {number} " + "and so on " * 60 for number in range(8)]
    messages: list[dict[str, Any]] = []
    for text in said:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": f"{room.word}: " + "yes " * 60}]
    await room.agent.record(messages, session=SESSION, channel=CHANNEL)
    await room.agent.conversations.compact(messages, session=SESSION, model="gpt-4o", max_tokens=1000)
    room.hows = {"session": {"session": SESSION}, "channel": {"channel": CHANNEL}}


@way
async def injected_text(room: Room) -> None:
    one = await room.agent.remember(f"The boiler is a {room.word}")
    messages = [{"role": "user", "content": "which boiler is it?"}]
    await room.agent.assemble(messages, model="gpt-4o", session="other", deadline=None)
    messages += [{"role": "assistant", "content": "hm"}, {"role": "user", "content": "the boiler, I mean?"}]
    await room.agent.assemble(messages, model="gpt-4o", session="other", deadline=None)
    room.hows = {"memory": {"ids": [one.id]}}


@way
async def alias_of_a_session(room: Room) -> None:
    session = f"talk of {room.word}"
    await room.say(f"about {room.word}", "hm", session=session)
    await room.agent.conversations.add_aliases(session, [SessionAlias(alias="a hash", turns=room.word.encode())])
    room.hows = {"session": {"session": session}}


@way
async def label_of_a_block(room: Room) -> None:
    block = await room.wide.blocks.create(f"notes-{room.word.casefold()}", text="x", type="core")
    messages = [{"role": "user", "content": "hello"}]
    await room.agent.assemble(messages, model="gpt-4o", session="other", deadline=None)
    messages += [{"role": "assistant", "content": "hi"}, {"role": "user", "content": "and now?"}]
    await room.agent.assemble(messages, model="gpt-4o", session="other", deadline=None)
    room.hows = {"wide block": {"ids": [block.id]}}


@way
async def history_of_a_block(room: Room) -> None:
    blocks = room.agent.blocks
    block = await blocks.create("plan", text=f"about {room.word}", description=room.word, by=room.word, reason=room.word)
    fields: dict[str, Any] = {"type": "map", "fields": [{"name": room.word.casefold()}]}
    other = await blocks.create("fields", schema=fields)
    await blocks.append("plan", f" and {room.word}", by=room.word)
    await blocks.set_text("plan", "nothing")
    await blocks.undo("plan")
    await blocks.share("plan", "another", system=True)
    room.hows = {"block": {"ids": [block.id, other.id]}}


@way
async def consent_to_an_edit(room: Room) -> None:
    block = await room.agent.blocks.create("contract", text="net 30 days", permission="human")
    edit = {"by": room.word, "reason": room.word}
    try:
        await room.agent.blocks.append("contract", f" for {room.word}", **edit)
    except ConsentNeeded as needed:
        await room.agent.blocks.approve(needed.request)
    await room.agent.blocks.append("contract", f" for {room.word}", **edit)
    room.hows = {"block": {"ids": [block.id]}}


@way
async def archival_entry(room: Room) -> None:
    one = await room.agent.blocks.archive(f"Anna {room.word} works at Initech.", {"about": room.word})
    room.hows = {"entry": {"ids": [one.id]}}


@way
async def entity(room: Room) -> None:
    one = await room.agent.graph.add("person", f"Anna {room.word}", aliases=[f"A. {room.word}"], properties={"n": room.word})
    firm = await room.agent.graph.add("organization", "Initech")
    await room.agent.graph.relate(one.id, "works_at", firm.id, properties={"as": room.word})
    room.hows = {"entity": {"ids": [one.id]}}


@way
async def merged_entities(room: Room) -> None:
    kept = await room.agent.graph.add("person", "Anna")
    gone = await room.agent.graph.add("person", f"Ann {room.word}")
    await room.agent.graph.merge(kept.id, gone.id)
    room.hows = {"entity": {"ids": [kept.id]}}


@way
async def learned_pattern(room: Room) -> None:
    word = room.word
    one = await room.agent.graph.patterns.learn(f"call {word}", keywords=[word.casefold()], intent=word, entity_types=[word])
    room.hows = {"pattern": {"ids": [one.id]}}


@way
async def task(room: Room) -> None:
    origin = Provenance(channel=room.word)
    frame = await room.agent.tasks.push(f"find {room.word}", session=SESSION, provenance=origin)
    await room.agent.tasks.checkpoint("here", session=SESSION)
    await room.agent.tasks.push("look further", session=SESSION)
    await room.agent.tasks.pop(f"{room.word} was there", session=SESSION)
    await room.agent.tasks.block(f"waits for {room.word}", session=SESSION)
    room.hows = {"task": {"ids": [frame.id]}, "session": {"session": SESSION}}


@way
async def branch_brought_back(room: Room) -> None:
    tasks = room.agent.tasks
    await tasks.push("main", session=SESSION)
    root = await tasks.branch("aside", f"goal {room.word}", session=SESSION)
    await tasks.pop(f"result {room.word}", session=SESSION)
    await tasks.switch("main", session=SESSION)
    await tasks.inject("aside", session=SESSION)
    room.hows = {"task": {"ids": [root.id]}, "session": {"session": SESSION}}


@way
async def goal_of_a_branch(room: Room) -> None:
    root = await room.agent.tasks.push(f"goal {room.word}", session=SESSION)
    await room.agent.tasks.branch("aside", session=SESSION)
    room.hows = {"task": {"ids": [root.id]}, "session": {"session": SESSION}}


async def _delegated(room: Room, wide: bool) -> None:
    await room.agent.tasks.push("main", session=SESSION)
    scope = room.wide.scope if wide else None
    given = await room.agent.delegate(f"look for {room.word}", model="gpt-4o", session=SESSION, scope=scope, deadline=None)
    child = room.wide if wide else room.agent
    await child.record(
        [{"role": "user", "content": f"Your task: look for {room.word}"}, {"role": "assistant", "content": f"{room.word}!"}],
        session=given.session,
    )
    await child.remember(f"The child found {room.word}", provenance=Provenance(session=given.session))
    await child.tasks.push(f"ask for {room.word}", session=given.session)
    await given.assemble([{"role": "user", "content": f"where is {room.word}?"}], model="gpt-4o", deadline=None)
    await given.complete(f"{room.word} is here")
    room.hows = {"task": {"ids": [given.id]}, "session": {"session": SESSION}}
    if not wide:
        room.hows["child"] = {"session": given.session}


@way
async def delegated(room: Room) -> None:
    await _delegated(room, wide=False)


@way
async def delegated_agent_wide(room: Room) -> None:
    await _delegated(room, wide=True)


async def _pointed_at(room: Room, id: str, also: str = "") -> None:
    await room.agent.tasks.push("look", session=SESSION)
    await room.agent.tasks.pop("done", session=SESSION, artifacts=[(id, f"title of {room.word}")])
    room.hows = {"pointed": {"ids": [also or id]}}


@way
async def pointer_to_a_message(room: Room) -> None:
    await _pointed_at(room, await room.say("hello", session="other"))


@way
async def pointer_to_a_memory(room: Room) -> None:
    await _pointed_at(room, (await room.agent.remember("a note")).id)


@way
async def pointer_to_what_is_agent_wide(room: Room) -> None:
    one = await room.wide.remember("a note for all")
    await _pointed_at(room, one.id)
    room.hows = {"wide memory": {"ids": [one.id]}}


@way
async def pointer_to_an_entity(room: Room) -> None:
    await _pointed_at(room, (await room.agent.graph.add("person", "Anna")).id)


@way
async def pointer_to_a_relation(room: Room) -> None:
    one, firm = await room.agent.graph.add("person", "Anna"), await room.agent.graph.add("organization", "Initech")
    relation = await room.agent.graph.relate(one.id, "works_at", firm.id)
    await _pointed_at(room, relation.id, one.id)


@way
async def pointer_to_a_pattern(room: Room) -> None:
    await _pointed_at(room, (await room.agent.graph.patterns.learn("call first")).id)


@way
async def pointer_to_a_block(room: Room) -> None:
    await _pointed_at(room, (await room.agent.blocks.create("plan", text="x")).id)


@way
async def pointer_to_an_entry(room: Room) -> None:
    await _pointed_at(room, (await room.agent.blocks.archive("an entry")).id)


@way
async def pointer_to_a_task(room: Room) -> None:
    await _pointed_at(room, (await room.agent.tasks.push("elsewhere", session="other")).id)


@way
async def pointer_to_a_handle(room: Room) -> None:
    messages = [{"role": "user", "content": "q " + "w " * 400}, {"role": "assistant", "content": "a " * 400}] * 6
    found = await room.agent.conversations.compact(messages, session="other", model="gpt-4o", max_tokens=900)
    await _pointed_at(room, found.cited[0])


@way
async def document(room: Room) -> None:
    await room.agent.documents.ingest(text=f"# On {room.word}\n\nThe {room.word} is old.", source="d.md", title=room.word)
    room.hows = {"session": {"session": document_session("d.md")}, "channel": {"channel": "document"}}


@way
async def made_of_a_document(room: Room) -> None:
    await room.agent.documents.ingest(text=f"# h\n\nThe {room.word} is old.", source="d.md")
    (one,) = [line["germane_id"] async for line in room.agent.export() if line["type"] == "message"]
    await room.agent.remember(f"From a document: {room.word}", derived_from=[one])
    room.hows = {"message": {"ids": [one]}}


@way
async def directive(room: Room) -> None:
    await room.agent.directive(f"Speak of {room.word} first.")


@way
async def who_forgot_and_why(room: Room) -> None:
    one = await room.agent.remember("a note")
    await room.agent.forget(ids=[one.id], by=room.word, reason=f"of {room.word}")
