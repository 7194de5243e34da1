"""Turns: the human turns of a request, and which records of earlier injections belong to them (INJECT-6). Pure.

A turn is known by its content together with the content of the message before it: "ok" twice in a session are two turns. The
hashes are keyed, so that they don't tell what was said. For a model that binds its thinking, a turn is also known by all
turns before it (INJECT-10): there, a text at the wrong one of two equal turns is a refused request.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from types import MappingProxyType

from germane.dialects.opaque import prefix_bound
from germane.kinds.injections import MAX_BOUND_RECORDS, MAX_RECORDS, Injection, InjectionHead, InjectionKey, WantedInjections
from germane.types.message import Message, Opaque, is_human


@dataclass(frozen=True, slots=True)
class HumanTurn:
    """`index` is the message's. `key` is a hash of the content and of the message before, `said` of the content alone. `first`
    says that no other message but system messages stands before: in a trimmed window, the one before may be missing. `chain` is
    a hash of the keys of all human turns up to this one."""

    index: int
    key: str
    said: str
    first: bool
    chain: str = ""


def human_turns(messages: Sequence[Message], key: bytes, *, chained: bool = False) -> tuple[HumanTurn, ...]:
    """Returns the human turns, in order: the last ones, as no older turn has a record any more. System messages don't count as
    the message before. `chained` turns have a `chain`."""
    spoken = [index for index, message in enumerate(messages) if message.role != "system"]
    human = [(place, index) for place, index in enumerate(spoken) if is_human(messages[index])]
    found, chain = list[HumanTurn](), ""
    for place, index in human if chained else human[-MAX_RECORDS:]:
        said = _hash(key, messages[index].content)
        context = _hash(key, messages[spoken[place - 1]].content) if place else ""
        turn = _hash(key, f"{said} {context}")
        chain = _hash(key, f"{chain} > {turn}") if chained else ""
        found.append(HumanTurn(index, turn, said, not place, chain))
    return tuple(found[-(MAX_BOUND_RECORDS if chained else MAX_RECORDS) :])


def _hash(key: bytes, text: str) -> str:
    return blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=16, key=key[:64]).hexdigest()


# The record of what was injected, for each turn of a request.


def match_turns(turns: Sequence[HumanTurn], records: Sequence[InjectionHead], open: bool) -> dict[int, InjectionHead]:
    """The record of each turn, by the index of its message. Turns with the same key are matched in order, from the last:
    the first ones' records may be gone. Where the request has more of them than there are records, the newest is new. A turn
    whose chain has a record takes the latest one of it, before all others."""
    latest = {record.turn: record for record in records if record.prefix}
    if chained := {turn.index: latest[turn.chain] for turn in turns if turn.chain in latest}:
        taken = {record.key for record in chained.values()}
        rest = [turn for turn in turns if turn.index not in chained]
        others = [record for record in records if record.key not in taken]
        return chained | (_matched(rest, others, open and rest[-1] is turns[-1]) if rest else {})
    return _matched(turns, records, open)


def _matched(turns: Sequence[HumanTurn], records: Sequence[InjectionHead], open: bool) -> dict[int, InjectionHead]:
    place = {record.key: number for number, record in enumerate(records)}
    turns = _keyed_as_before(turns, records)
    found = _match_by_key(turns, records, open)
    if turns[0].index in found:
        # the records before the first turn's are those of turns that were cut off
        found = _match_by_key(turns, records[place[found[turns[0].index].key] :], open)
    _match_by_content(turns[:-1] if open else turns, records, found, place)
    newest = turns[-1]
    if open and newest.index in found:
        before = [place[found[turn.index].key] for turn in turns[:-1] if turn.index in found]
        if before and max(before) > place[found[newest.index].key]:
            # an older record than its predecessors' is that of another turn with the same words
            del found[newest.index]
    return found


def _keyed_as_before(turns: Sequence[HumanTurn], records: Sequence[InjectionHead]) -> Sequence[HumanTurn]:
    """The turns, the first of them with the key it had before its predecessor was cut off, where later turns with the same
    words have that key and no other record has the words: so they are counted together."""
    first = turns[0]
    keys = {record.turn for record in records if record.said == first.said}
    if first.first and first.key not in keys and len(keys) == 1 and any(turn.key in keys for turn in turns[1:]):
        return replace(first, key=keys.pop()), *turns[1:]
    return turns


def _match_by_key(turns: Sequence[HumanTurn], records: Sequence[InjectionHead], open: bool) -> dict[int, InjectionHead]:
    newest = turns[-1] if open else None
    of_key: dict[str, list[InjectionHead]] = defaultdict(list)
    for record in records:
        of_key[record.turn].append(record)
    groups: dict[str, list[HumanTurn]] = defaultdict(list)
    for turn in turns:
        groups[turn.key].append(turn)
    found: dict[int, InjectionHead] = {}
    for key, group in groups.items():
        kept = of_key[key]
        known = group[:-1] if newest is not None and group[-1] is newest and len(kept) < len(group) else group
        found |= {turn.index: record for turn, record in zip(reversed(known), reversed(kept), strict=False)}
    return found


def _match_by_content(
    turns: Sequence[HumanTurn],
    records: Sequence[InjectionHead],
    found: dict[int, InjectionHead],
    place: dict[InjectionKey, int],
) -> None:
    """Adds records for turns whose predecessor was cut off or edited: for the first turn of the request the latest record with
    its content that is older than the next turn's, else the only one, and for others the only one."""
    used = {record.key for record in found.values()}
    with_content: dict[str, list[InjectionHead]] = defaultdict(list)
    for record in records:
        with_content[record.said].append(record)
    open_turns = [turn for turn in turns if turn.index not in found and turn.said in with_content]
    counts = Counter(turn.said for turn in open_turns)
    for turn in reversed(open_turns):
        if not turn.first and counts[turn.said] > 1:
            continue
        options = [record for record in with_content[turn.said] if record.key not in used]
        if turn.first:
            later = [place[record.key] for index, record in found.items() if index > turn.index]
            older = [record for record in options if place[record.key] < min(later, default=len(records))]
            options = older[-1:] or options
        if len(options) == 1:
            found[turn.index] = options[0]
            used.add(options[0].key)


# Earlier texts take at most seven eighths of the budget: if they take more when a new turn comes, the oldest go until a
# quarter is left. So the prefix breaks once, and then holds for many turns. Which ones go follows from the heads of the
# session's records, so all workers agree, and only the texts that may stay are read: a session has hundreds of records.
# In a session that changed its model all texts are read, to count them in the new model's tokens. For a model that
# binds its thinking no text goes (INJECT-10): what a new turn may add is planned instead
# (`bound_injections.planned_room`).


MAX_RETRY_AGE = timedelta(minutes=10)
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
    if open and newest.index in found and now - found[newest.index].created_at > MAX_RETRY_AGE:
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


# A provider that binds thinking refuses a block of thinking if anything before it has changed. Each record of a turn
# holds a hash of all of germane's text up to that turn, as it was sent. So any change is known, whatever caused it,
# also in another process (INJECT-10).


def prefixes(turns: Sequence[HumanTurn], stable: str, texts: Mapping[int, str], key: bytes) -> dict[int, str]:
    """Returns by each turn's index a hash of the text that stands first and of the `texts` up to there, by their turns'
    index."""
    digest, found = blake2b(_framed(stable), digest_size=16, key=key[:64]), dict[int, str]()
    for turn in turns:
        if text := texts.get(turn.index, ""):
            digest.update(turn.chain.encode() + _framed(text))
        found[turn.index] = digest.copy().hexdigest()
    return found


def thinking_turns(messages: Sequence[Message], turns: Sequence[HumanTurn]) -> Iterator[int]:
    """Yields the index of each turn in whose answer there is thinking."""
    ends = [*(turn.index for turn in turns[1:]), len(messages)]
    for turn, end in zip(turns, ends, strict=False):
        if any(
            isinstance(part, Opaque) and prefix_bound(part) for message in messages[turn.index : end] for part in message.parts
        ):
            yield turn.index


def changed_turns(
    messages: Sequence[Message], turns: Sequence[HumanTurn], sent: Mapping[int, str], recorded: Mapping[int, str]
) -> list[int]:
    """Returns the turns whose answers hold thinking that was made behind other text of germane's than is `sent` now. `recorded`
    are the hashes of their records: a turn without one is among them, as nobody knows what stood there."""
    return [index for index in thinking_turns(messages, turns) if recorded.get(index, "") != sent[index]]


def _framed(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return len(raw).to_bytes(8, "big") + raw
