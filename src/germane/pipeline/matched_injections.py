"""Matched injections: which records belong to the turns of a request, and for which of their texts the budget has room
(INJECT-6). Pure.

Earlier texts take at most seven eighths of the budget: where they take more when a new turn comes, the oldest go until a
quarter is left. So the prefix breaks once, and then holds for many turns. Which ones go follows from the heads of the session's
records, so all workers agree, and only the texts that may stand are read: a session has hundreds of records. In a session that
changed its model all texts are read, to count them in the new model's tokens.

Where a model binds its thinking to what stands before it, no text goes (INJECT-10): what a new turn may add is planned instead
(`bound_injections.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

from germane.injections.injection import Injection, InjectionHead, InjectionKey, WantedInjections
from germane.pipeline.inject.match_turns import match_turns
from germane.pipeline.inject.turns import HumanTurn

__all__ = ["RETRY", "MatchedInjections", "match_records"]

RETRY = timedelta(minutes=10)
"""How long after its first call the same newest turn counts as sent again; later, it is a new turn with the same words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedInjections:
    """`heads` are those of the session's records, oldest first; a record that isn't written yet is there whole. `found` holds
    the one of each turn that has one, by the index of its message. `room` are the keys of the records whose texts the budget
    has room for, that of the `newest` turn aside. `occurrence` is the number of the newest turn's record, should it get a new
    one; `first_number` that of the next handle."""

    newest: HumanTurn
    heads: Sequence[InjectionHead]
    found: Mapping[int, InjectionHead]
    room: Set[InjectionKey]
    occurrence: int
    first_number: int
    turns: Sequence[HumanTurn] = ()
    open: bool = True
    bound: bool = False
    """Whether the model binds its thinking."""

    def has_room(self, index: int) -> bool:
        """Whether the budget has room for the text of the turn at this index, which has a record; always for the newest."""
        return self.bound or index == self.newest.index or self.found[index].key in self.room

    def counted_otherwise(self, tokenizer: str) -> tuple[InjectionHead, ...]:
        """The records whose texts another tokenizer counted, of which the room can't be told from the heads."""
        return () if self.bound else tuple(head for head in self.heads if head.tokens and head.tokenizer != tokenizer)

    def wanted(self, tokenizer: str) -> WantedInjections:
        """What is to be asked of the store: the records of the texts that may stand, where only their heads are known, and the
        items of those that are known whole. In a session that changed its model these are all that the request or the count of
        tokens needs."""
        if otherwise := self.counted_otherwise(tokenizer):
            needed: Sequence[InjectionHead] = (*self.found.values(), *otherwise)
        else:
            needed = [head for index, head in self.found.items() if self.has_room(index)]
        whole = [head for head in needed if isinstance(head, Injection)]
        return WantedInjections(
            {head.key for head in needed if not isinstance(head, Injection)},
            {item.id for record in whole for item in record.items if item.stored},
            presence=self.bound,
        )


def match_records(
    turns: Sequence[HumanTurn],
    heads: Sequence[InjectionHead],
    *,
    open: bool,
    available: int,
    cap: int,
    per_text: int,
    now: datetime,
    counts: Mapping[InjectionKey, int] = MappingProxyType({}),
    bound: bool = False,
) -> MatchedInjections:
    """Finds the record of each of the turns, of which there is one at least. `heads` are those of the session, oldest first.
    `open` says that the newest turn is the last message: nothing has answered it yet. `cap` is the budget that doesn't depend
    on the size of the messages; each text costs `per_text` tokens besides its own: those of its head, or those in `counts`."""
    newest = turns[-1]
    found = match_turns(turns, heads, open)
    if open and newest.index in found and now - found[newest.index].created_at > RETRY:
        del found[newest.index]
    own = found.get(newest.index)
    last = max((head.occurrence for head in heads if head.turn == (newest.chain if bound else newest.key)), default=0)
    sizes = {head.key: counts.get(head.key, head.tokens) + per_text for head in heads if head.tokens and head is not own}
    return MatchedInjections(
        newest=newest,
        heads=heads,
        found=found,
        room=_room(sizes, available, cap),
        occurrence=last + 1 if own is None else own.occurrence,
        first_number=1 + max((head.last_handle for head in heads), default=0),
        turns=turns,
        open=open,
        bound=bound,
    )


def _room(sizes: Mapping[InjectionKey, int], available: int, cap: int) -> set[InjectionKey]:
    """The records that the budget has kept room for, turn by turn from the first. The limit is the cap, halved as often as what
    is available asks for: so it changes rarely while the messages grow."""
    limit = cap
    while limit > available:
        limit //= 2
    keys, total, first = list(sizes), 0, 0
    for number in range(len(keys) + 1):
        if total > 7 * limit / 8:
            while total > limit / 4:
                total -= sizes[keys[first]]
                first += 1
        if number < len(keys):
            total += sizes[keys[number]]
    return set(keys[first:])
