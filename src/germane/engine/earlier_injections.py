"""Earlier injections: which texts of earlier calls stay in a prompt, and what is left to add (INJECT-6). Pure.

A text is put back, byte for byte, at the turn it was injected for, as long as that turn is in the request, the budget has
room (`turns.match_records`) and everything in the text may be shown. The newest turn keeps its text in the same way while
tools run for it, and when it is sent again within ten minutes. But the newest turn is assembled anew if its text left out an
item because an earlier turn showed that item, and the earlier turn no longer does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime

from germane.engine.turns import HumanTurn, MatchedInjections
from germane.kinds.injections import Injection, InjectionHead, KeptInjections, PutInjection
from germane.stages.gather.memories import PROFILE
from germane.types.candidate import Candidate, Chosen, LeftOut, Reason, Scored
from germane.types.query import Filters
from germane.types.trace import EarlierInjection, InjectedItem

MIXED = "mixed"
"""In the place of a prefix's hash: there were several, so that no prefix fits all of the turn's answer."""
_MIXED_MARK = "!"
"""Behind a turn's chain in the record which says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierTexts:
    """What stands in the prompt since earlier calls. `new` is the turn that this call injects for: None where the newest turn
    keeps the text it has, and where nothing may be kept. `cost` is in tokens, with the overhead of a message for each text."""

    texts: tuple[EarlierInjection, ...] = ()
    per_text: int = 0
    new: HumanTurn | None = None
    occurrence: int = 1
    replaces: bool = False
    closed: bool = False
    """Whether the newest turn keeps its text, so that nothing is added."""
    newest: HumanTurn | None = None
    first_number: int = 1
    warnings: tuple[str, ...] = ()
    turns: tuple[HumanTurn, ...] = ()
    """The human turns of the request; of a model that doesn't bind its thinking, those that may have a record."""
    bound: bool = False
    """Whether the model binds its thinking to what stands before it (INJECT-10). Only then the rest is known: whether the
    newest turn is `open` (nothing has answered it), and the hash of all text up to a turn that its record holds, by the turn's
    index (`turns.changed_turns`)."""
    open: bool = False
    fixed: bool = False
    """Whether nothing new may be added, whatever is found."""
    recorded: Mapping[int, str] = field(default_factory=dict)

    @property
    def tokens(self) -> int:
        return sum(text.tokens for text in self.texts)

    @property
    def cost(self) -> int:
        return self.tokens + self.per_text * len(self.texts)

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the stored items in the texts."""
        return frozenset(item.id for text in self.texts for item in text.items if item.stored)

    @property
    def has_profile(self) -> bool:
        """Whether lines of a profile stand."""
        return any(item.source == PROFILE for text in self.texts for item in text.items)

    @property
    def profile_tokens(self) -> int:
        """The tokens of the profile's lines that stand."""
        return sum(item.tokens for text in self.texts for item in text.items if item.source == PROFILE)

    def passed(self, allowed: Set[str]) -> EarlierTexts:
        """Without the texts that hold an item outside `allowed`."""
        kept = tuple(text for text in self.texts if all(not item.stored or item.id in allowed for item in text.items))
        if len(kept) == len(self.texts):
            return self
        gone = [text.turn for text in self.texts if text not in kept]
        return replace(
            self, texts=kept, warnings=(*self.warnings, *(withdrawn_warning(turn, "an item in it") for turn in gone))
        )

    def kept(self) -> EarlierTexts:
        """What stands whatever happens to the rest of the call, and nothing new."""
        return replace(self, new=None, closed=True, fixed=True)

    def showing(self, shown: Sequence[Candidate]) -> tuple[str, ...]:
        """The ids of the items that show these candidates."""
        ids, hashes = {each.id for each in shown}, {each.content_hash for each in shown}
        items = [item for text in self.texts for item in text.items]
        return tuple(item.id for item in items if item.id in ids or (item.content_hash and item.content_hash in hashes))

    def opened(self, ranked: Sequence[Scored]) -> EarlierTexts:
        """With the newest turn assembled anew, where one of these candidates is a block or a task that doesn't stand yet: they
        are shown at once, also while tools run."""
        if not self.closed or self.newest is None or self.fixed or (self.bound and not self.open):
            return self
        ids = self.ids
        if all(not _shown_at_once(scored.candidate) or scored.id in ids for scored in ranked):
            return self
        texts = tuple(text for text in self.texts if text.turn != self.newest.index)
        return replace(self, texts=texts, new=self.newest, replaces=True, closed=False)

    def separate(self, ranked: Sequence[Scored]) -> tuple[Sequence[Scored], tuple[LeftOut, ...]]:
        """The candidates that may be added, and those left out: because they stand in a text, or because nothing is added."""
        if not self.texts and not self.closed:
            return ranked, ()
        items = [item for text in self.texts for item in text.items]
        ids, hashes = {item.id for item in items}, {item.content_hash for item in items if item.content_hash}
        if self.bound:
            ids = set()  # of an item that has changed since, the old text stands: the new one may be added
            hashes |= {item.content_hash for item in items}
        new, out = list[Scored](), list[LeftOut]()
        for scored in ranked:
            shown = scored.id in ids or scored.candidate.content_hash in hashes
            if shown or self.closed:
                reason: Reason = "already_shown" if shown else "turn_kept"
                out.append(LeftOut(scored=scored, reason=reason))
            else:
                new.append(scored)
        return new, tuple(out)


def _shown_at_once(candidate: Candidate) -> bool:
    return candidate.block is not None or (candidate.required and candidate.source == "tasks")


NO_EARLIER_TEXTS = EarlierTexts()


def find_earlier_texts(
    matched: MatchedInjections,
    kept: KeptInjections,
    filters: Filters,
    *,
    available: int,
    per_text: int,
    tokens: Callable[[Injection], int],
) -> EarlierTexts:
    """Finds the text of each turn. `kept` has the records that `matched` wanted. `tokens` counts a record's text."""
    newest, whole = matched.newest, {record.key: record for record in kept.records}
    warnings = list[str]()
    standing = dict[int, Injection | None]()
    """The records of the turns; None where the budget has no room for the text."""
    for index, head in matched.found.items():
        record = (head if isinstance(head, Injection) else whole.get(head.key)) if matched.has_room(index) else None
        if why := head.withdrawn or ("" if record is None else _refused(record, kept, filters)):
            warnings.append(withdrawn_warning(index, why))
        else:
            standing[index] = record
    own = standing.get(newest.index)
    sizes = {index: tokens(record) + per_text for index, record in standing.items() if record is not None and record.text}
    texts = _within(available, standing, sizes)
    if own is not None and not relied_on_shown(own, texts.values()):
        if own.text:
            warnings.append(f"the text injected for message {newest.index} is dropped: an item that stood before it is gone")
        del standing[newest.index]
        own, texts = None, _within(available, standing, sizes)
    repeated = _repeated(texts)
    for index in repeated:
        warnings.append(f"the text injected for message {index} is dropped: a later one holds the same item")
        del texts[index]
    shown = {index for index in standing if matched.found[index].tokens}
    if dropped := sorted(shown.difference(texts, repeated)):
        warnings.append(f"the texts injected for messages {', '.join(map(str, dropped))} are dropped: the budget has no room")
    closed = own is not None and (not own.text or newest.index in texts)
    return EarlierTexts(
        texts=tuple(text_at(index, record, sizes[index] - per_text) for index, record in sorted(texts.items())),
        per_text=per_text,
        new=None if closed else newest,
        occurrence=matched.occurrence,
        replaces=newest.index in matched.found,
        closed=closed,
        newest=newest,
        first_number=matched.first_number,
        warnings=tuple(warnings),
        turns=tuple(matched.turns),
    )


def next_injection(
    standing: EarlierTexts,
    session: str,
    text: str,
    items: Sequence[Chosen],
    shown: Sequence[Candidate],
    *,
    tokens: int,
    tokenizer: str,
    registered: Set[str],
    now: datetime,
    prefix: str = "",
) -> PutInjection | None:
    """The record of what this call injected; None where the newest turn has one already. `shown` are the candidates
    that weren't added because they stand; `registered` are the caller's own sources."""
    if standing.new is None:
        return None
    record = Injection(
        turn=standing.new.chain if standing.bound else standing.new.key,
        said=standing.new.said,
        occurrence=standing.occurrence,
        text=text,
        tokens=tokens,
        tokenizer=tokenizer,
        last_handle=standing.first_number - 1 + len(items),
        items=tuple(_injected_item(item, registered) for item in items),
        created_at=now,
        relies_on=standing.showing(shown),
        prefix=prefix,
    )
    return PutInjection(session, record, standing.replaces)


def kept_injection(standing: EarlierTexts, session: str, *, prefix: str, tokenizer: str, now: datetime) -> PutInjection | None:
    """What is to be recorded where nothing was added for the newest turn of a model that binds its thinking (INJECT-10): of an
    open turn the text that it has or that it has none, of another one that its answer was made behind different texts. None
    where the record says all that."""
    newest = standing.newest
    if newest is None or standing.recorded.get(newest.index) in (prefix, MIXED):
        return None
    own = next((text for text in standing.texts if text.turn == newest.index), None)
    text, items, tokens = ("", (), 0) if own is None or not standing.open else (own.text, own.items, own.tokens)
    record = Injection(
        turn=newest.chain if standing.open else f"{newest.chain}{_MIXED_MARK}",
        said=newest.said if standing.open else "",
        occurrence=standing.occurrence if standing.open else 1,
        text=text,
        tokens=tokens,
        tokenizer=tokenizer,
        last_handle=standing.first_number - 1 if standing.open else 0,
        items=items,
        created_at=now,
        prefix=prefix if standing.open else MIXED,
    )
    return PutInjection(session, record, replaces=standing.open)


def mixed_turns(turns: Sequence[HumanTurn], heads: Sequence[InjectionHead]) -> set[int]:
    """The turns whose answers were made behind different texts, by their index."""
    marks = {head.turn for head in heads if head.turn.endswith(_MIXED_MARK)}
    return {turn.index for turn in turns if f"{turn.chain}{_MIXED_MARK}" in marks} if marks else set()


def _injected_item(item: Chosen, registered: Set[str]) -> InjectedItem:
    candidate = item.scored.candidate
    return InjectedItem(
        handle=item.handle,
        id=item.id,
        content_hash=candidate.content_hash,
        source=item.source,
        sensitivity=candidate.sensitivity,
        stored=not candidate.only_from(registered),
        tokens=item.tokens,
    )


def _refused(record: Injection, kept: KeptInjections, filters: Filters) -> str:
    """Which items keep the record's text from being shown, by their handles; empty where it may be shown."""
    if record.withdrawn:
        return record.withdrawn
    return ", ".join(item.handle for item in record.items if not _may_be_shown(item, kept, filters))


def _may_be_shown(item: InjectedItem, kept: KeptInjections, filters: Filters) -> bool:
    if item.id in filters.exclude:
        return False
    if not item.stored:
        return item.sensitivity in filters.sensitivities
    return kept.allowed.get(item.id) == item.content_hash


def _repeated(texts: Mapping[int, Injection]) -> list[int]:
    """The turns whose text holds an item of a later one's. That is so where an earlier text didn't stand in the call that added
    the item again, because that call allowed less or had fewer messages."""
    seen, found = set[str](), list[int]()
    for index in sorted(texts, reverse=True):
        ids = {item.id for item in texts[index].items}
        if seen & ids:
            found.append(index)
        else:
            seen |= ids
    return found


def relied_on_shown(own: Injection, texts: Iterable[Injection]) -> bool:
    """Whether the items stand that a turn's text left out because they stood then."""
    return {*own.relies_on} <= {item.id for record in texts for item in record.items}


def text_at(index: int, record: Injection, tokens: int) -> EarlierInjection:
    """The record's text as it stands at the turn of this index, without the overhead of a message."""
    return EarlierInjection(turn=index, text=record.text, tokens=tokens, items=record.items)


def _within(available: int, standing: Mapping[int, Injection | None], sizes: Mapping[int, int]) -> dict[int, Injection]:
    """The texts that take at most so many tokens together, by turn: the oldest go first, that of the newest turn goes last."""
    texts = {index: record for index, record in standing.items() if record is not None and record.text}
    total = sum(sizes[index] for index in texts)
    for index in sorted(texts):
        if total <= available:
            break
        total -= sizes[index]
        del texts[index]
    return texts


def withdrawn_warning(index: int, handles: str) -> str:
    """The sentence for the trace. `handles` name the items."""
    return (
        f"the text injected for message {index} was withdrawn: {handles} was forgotten, was changed, has ended or isn't "
        f"allowed in this request"
    )
