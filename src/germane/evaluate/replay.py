"""Replay: the last sessions of a conversation once more, turn by turn, as an application would live through them: assemble,
call the model, record. Nothing is asked of it but how its prompts begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from germane.api.germane import Germane
from germane.evaluate.dataset import Conversation, Stated
from germane.evaluate.fill import fill
from germane.evaluate.prefix import Call, common, prompt
from germane.evaluate.when import starts
from germane.types.message import Message
from germane.types.strategy import Strategy

__all__ = ["AGENT", "calls_of", "replay", "tail"]

AGENT = "evaluated"
"""The agent that hears each conversation."""


def calls_of(said: Sequence[Message]) -> list[int]:
    """The places in a session at which a model is called: a user's message that is answered; each, where nobody is an
    assistant; at least two, as one has nothing to share with."""
    assisted = any(message.role == "assistant" for message in said)
    found = [
        place
        for place, message in enumerate(said)
        if not assisted or (message.role == "user" and place + 1 < len(said) and said[place + 1].role != "user")
    ]
    return found if len(found) > 1 else []


def tail(conversation: Conversation, most: int) -> dict[str, list[int]]:
    """The last sessions with `most` calls or a few more in them, in order, each with the places of its calls, cut at `most`."""
    chosen: dict[str, list[int]] = {}
    left = most
    for session, said in reversed(list(conversation.sessions.items())):
        if left <= 0:
            break
        places = calls_of(said)[:left]
        chosen[session] = places if len(places) > 1 else []
        left -= len(chosen[session])
    return dict(reversed(chosen.items()))


async def replay(
    germane: Germane,
    conversation: Conversation,
    *,
    strategy: str | Strategy,
    model: str,
    most: int,
    progress: Callable[[int], None] | None = None,
) -> list[Call]:
    """At most `most` calls; what comes before them is recorded first, each of them after its answer, then the rest: afterwards
    the agent has heard everything. `progress` is told of messages that were recorded and of calls."""
    agent, chosen = germane.agent(AGENT), tail(conversation, most)
    head = {session: said for session, said in conversation.sessions.items() if session not in chosen}
    await fill(agent, replace(conversation, sessions=head, memories=_dated(conversation)), progress=progress)
    calls = []
    for session, places in chosen.items():
        said, recorded = conversation.sessions[session], 0
        before: tuple[list[str], int] | None = None
        for place in places:
            heard = said[: place + 1]
            context = await agent.assemble(
                heard, model=model, session=session, at=heard[-1].created_at, deadline=None, strategy=strategy
            )
            own = 0 if context.trace.budget is None else context.trace.budget.messages
            texts = prompt(context.to_openai())
            if before is not None:
                same = germane.count(common(before[0], texts), model=model)
                whole = germane.count("".join(texts), model=model)
                calls.append(
                    Call(conversation=conversation.name, prompt=whole, common=same, own=own, own_common=min(own, before[1]))
                )
            before = texts, own
            await agent.record(said[recorded : place + 1], session=session)
            if progress:
                progress(1 + place + 1 - recorded)
            recorded = place + 1
        await fill(agent, replace(conversation, sessions={session: said[recorded:]}, memories=()), progress=progress)
    return calls


def _dated(conversation: Conversation) -> list[Stated]:
    """The memories, holding from the conversation's beginning where they don't say from when: not from that of its tail."""
    began = starts(conversation)
    return [
        stated
        if began is None or stated.given.get("valid_from") or stated.given.get("observed_at")
        else replace(stated, given={**stated.given, "valid_from": began})
        for stated in conversation.memories
    ]
