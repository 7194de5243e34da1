"""Replay: assembles and records the last sessions of a conversation turn by turn, to measure prefix reuse.

This is what an application does, but for the call of the model: only the prompts are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from germane.api.agent import Agent
from germane.api.germane import Germane
from germane.evaluate.dataset import Conversation, Stated
from germane.evaluate.fill import fill
from germane.evaluate.prefix import ReplayedCall, common_prefix, prompt_texts
from germane.evaluate.question_clock import starts
from germane.types.message import Message
from germane.types.strategy import Strategy

__all__ = ["call_positions", "last_sessions", "replay"]


def call_positions(said: Sequence[Message]) -> list[int]:
    """Positions of the messages of a session after which a model is called: every user message with an answer or, in a session
    without an assistant, every message. Empty for fewer than two: a single call has no previous prompt."""
    assisted = any(message.role == "assistant" for message in said)
    found = [
        position
        for position, message in enumerate(said)
        if not assisted or (message.role == "user" and position + 1 < len(said) and said[position + 1].role != "user")
    ]
    return found if len(found) > 1 else []


def last_sessions(conversation: Conversation, max_calls: int) -> dict[str, list[int]]:
    """The last sessions that hold `max_calls` calls together, in order, each with the positions of its calls. Calls beyond
    `max_calls` are cut off."""
    chosen: dict[str, list[int]] = {}
    left = max_calls
    for session, said in reversed(list(conversation.sessions.items())):
        if left <= 0:
            break
        positions = call_positions(said)[:left]
        chosen[session] = positions if len(positions) > 1 else []
        left -= len(chosen[session])
    return dict(reversed(chosen.items()))


async def replay(
    germane: Germane,
    agent: Agent,
    conversation: Conversation,
    *,
    strategy: str | Strategy,
    model: str,
    max_calls: int,
    progress: Callable[[int], None] | None = None,
) -> list[ReplayedCall]:
    """Replays at most `max_calls` calls of `agent`, a handle of `germane`. Earlier sessions are recorded first, each replayed
    turn after its assembly, and then the rest: afterwards the agent holds the whole conversation. `progress` is called with the
    numbers of recorded messages and of calls."""
    chosen = last_sessions(conversation, max_calls)
    head = {session: said for session, said in conversation.sessions.items() if session not in chosen}
    await fill(agent, replace(conversation, sessions=head, memories=_dated(conversation)), progress=progress)
    calls = []
    for session, positions in chosen.items():
        said, recorded = conversation.sessions[session], 0
        before: tuple[list[str], int] | None = None
        for position in positions:
            heard = said[: position + 1]
            context = await agent.assemble(
                heard, model=model, session=session, at=heard[-1].created_at, deadline=None, strategy=strategy
            )
            own = 0 if context.trace.budget is None else context.trace.budget.messages
            texts = prompt_texts(context.to_openai())
            if before is not None:
                same = germane.count(common_prefix(before[0], texts), model=model)
                whole = germane.count("".join(texts), model=model)
                calls.append(
                    ReplayedCall(
                        conversation=conversation.name, prompt=whole, common=same, own=own, own_common=min(own, before[1])
                    )
                )
            before = texts, own
            await agent.record(said[recorded : position + 1], session=session)
            if progress:
                progress(1 + position + 1 - recorded)
            recorded = position + 1
        await fill(agent, replace(conversation, sessions={session: said[recorded:]}, memories=()), progress=progress)
    return calls


def _dated(conversation: Conversation) -> list[Stated]:
    """The memories. Those without a time of their own are valid from the beginning of the whole conversation, because `fill`
    sees only a part of it."""
    began = starts(conversation)
    return [
        stated
        if began is None or stated.given.get("valid_from") or stated.given.get("observed_at")
        else replace(stated, given={**stated.given, "valid_from": began})
        for stated in conversation.memories
    ]
