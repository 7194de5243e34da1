"""Followed conversation: a conversation that is given whole at each call, and is read and counted only where it is new."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from germane.compaction.fold import CompactionFold
from germane.compaction.notebook import Summaries
from germane.compaction.plan import CompactionPlan, CompactionTerms
from germane.types.extent import bounded
from germane.types.message import Message, Raw

__all__ = ["FollowedConversation"]


class FollowedConversation:
    """Mutable; for one thread at a time. The plan is that of a new fold over the same messages."""

    def __init__(self, terms: CompactionTerms) -> None:
        self.terms = terms
        self.characters = 0
        """Those of the messages that it holds."""
        self._fold = CompactionFold(terms)
        self._messages: list[Message] = []

    def __len__(self) -> int:
        """The number of messages that it holds."""
        return len(self._messages)

    def plan(
        self,
        raws: Sequence[Raw],
        messages: Sequence[Message],
        summaries: Summaries = (),
        pause: Callable[[], bool] = lambda: False,
    ) -> CompactionPlan | None:
        """Returns the plan for the conversation as it is now; `messages` are `raws` parsed. What was there before isn't read
        again, up to the first message that was edited or taken away: the work starts again there. After a failure it starts
        again at the next call. Returns None where `pause`, which is asked before each further message, says that it is time to
        stop: the next call goes on there."""
        same = next(
            (index for index, (old, new) in enumerate(zip(self._messages, messages, strict=False)) if old != new),
            min(len(self._messages), len(messages)),
        )
        if same < len(self._messages):
            self._begin()
            same = 0
        try:
            self._fold.renew(raws[:same])
            for index in range(same, len(messages)):
                if index > same and pause():
                    return None
                raw, message = raws[index], messages[index]
                self._fold.add(raw, message)
                self.characters += bounded("messages", raw)[1] if isinstance(raw, Mapping) else len(message.content)
                self._messages.append(message)
            return self._fold.plan(summaries)
        except BaseException:
            self._begin()
            raise

    def _begin(self) -> None:
        self._fold, self._messages, self.characters = CompactionFold(self.terms), [], 0
