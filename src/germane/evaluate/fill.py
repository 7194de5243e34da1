"""Fill: stores a labelled conversation through an agent, its memories first and then its messages by session."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from germane.api.agent import Agent
from germane.errors import InvalidInput
from germane.evaluate.dataset import Conversation, Stated
from germane.types.candidate import Provenance

__all__ = ["fill"]

_BATCH = 200


async def fill(agent: Agent, conversation: Conversation, *, progress: Callable[[int], None] | None = None) -> None:
    """Remembers the memories one by one and records the messages in batches of one session. `progress` is called with the
    number of entries that each batch stored.

    The provenance of a memory carries its id as `message_id`. A memory without `valid_from` and `observed_at` is valid from
    the first message on. Raises what `remember` and `record` raise.
    """
    said = [message.created_at for messages in conversation.sessions.values() for message in messages]
    began = min((time for time in said if time is not None), default=None)
    for stated in conversation.memories:
        await _remember(agent, stated, began, conversation.name)
        if progress:
            progress(1)
    for session, messages in conversation.sessions.items():
        for start in range(0, len(messages), _BATCH):
            batch = messages[start : start + _BATCH]
            await agent.record(batch, session=session)
            if progress:
                progress(len(batch))


async def _remember(agent: Agent, stated: Stated, began: datetime | None, conversation: str) -> None:
    given = dict(stated.given)
    if began is not None and given.get("valid_from") is None and given.get("observed_at") is None:
        given["valid_from"] = began
    try:
        await agent.remember(stated.text, kind=stated.kind, provenance=Provenance(message_id=stated.id), **given)
    except InvalidInput as error:
        raise InvalidInput(f"conversation {conversation}, memory {stated.id}: {error}") from None
