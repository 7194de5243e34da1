"""Fill: a conversation put into an agent as its user would have done it, session by session."""

from __future__ import annotations

from collections.abc import Callable

from germane.agent import Agent
from germane.evaluate.dataset import Conversation

__all__ = ["fill"]

_BATCH = 200


async def fill(agent: Agent, conversation: Conversation, *, progress: Callable[[int], None] | None = None) -> None:
    """Record every message of the conversation, in batches of one session. `progress` is told how many were stored with
    each batch. Raises what `record` raises."""
    for session, said in conversation.sessions.items():
        for start in range(0, len(said), _BATCH):
            batch = said[start : start + _BATCH]
            await agent.record(batch, session=session)
            if progress:
                progress(len(batch))
