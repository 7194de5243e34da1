"""Bound injections: what stands in the prompt of a model that binds its thinking to what stands before it (INJECT-10). Pure.

Every text stands again where it stood. None goes to make room, none because a later one holds the same item, and none because
an item in it has changed or ended. Only what was forgotten or deleted, and what the request's filters and sensitivities forbid,
takes a text away. Nothing is added to a turn that was answered. What a new turn may add is planned: a quarter of the tokens
that are left, so that something is left for each later turn.
"""

from __future__ import annotations

from collections.abc import Callable

from germane.injections.injection import Injection, KeptInjections
from germane.pipeline.earlier_injections import MIXED, Standing, all_stand, mixed_turns, text_at, withdrawn_warning
from germane.pipeline.matched_injections import MatchedInjections
from germane.types.earlier import InjectedItem
from germane.types.query import Filters

__all__ = ["may_stand", "planned_room", "stand_bound"]

_SHARE = 4
"""The part of the tokens left that a new turn may use: one in so many."""


def planned_room(available: int, standing: Standing, directive: int, cap: int) -> int:
    """Returns the tokens that this call may take for the directive and for new text. The directive takes `directive` tokens; it
    stands whatever else does, as long as the `cap` has room for it."""
    fixed = directive if directive <= cap else 0
    return fixed + max(0, available - standing.cost - fixed) // _SHARE


def stand_bound(
    matched: MatchedInjections,
    kept: KeptInjections,
    filters: Filters,
    *,
    per_text: int,
    tokens: Callable[[Injection], int],
) -> Standing:
    """Finds the text of each turn, as `earlier_injections.stand` does for other models."""
    newest, whole = matched.newest, {record.key: record for record in kept.records}
    warnings, texts, recorded = list[str](), dict[int, Injection](), dict[int, str]()
    own = None
    for index, head in matched.found.items():
        record = head if isinstance(head, Injection) else whole.get(head.key)
        if why := head.withdrawn or ("" if record is None else _refused(record, kept, filters)):
            warnings.append(withdrawn_warning(index, why))
        elif record is not None:
            own = record if index == newest.index else own
            if record.text:
                texts[index] = record
        if head.prefix:
            recorded[index] = head.prefix
    recorded |= dict.fromkeys(mixed_turns(matched.turns, matched.heads), MIXED)
    if matched.open and own is not None and not (own.text and all_stand(own, texts.values())):
        texts.pop(newest.index, None)
        own = None
    closed = not matched.open or own is not None
    return Standing(
        texts=tuple(text_at(index, record, tokens(record)) for index, record in sorted(texts.items())),
        per_text=per_text,
        new=None if closed else newest,
        occurrence=matched.occurrence,
        replaces=newest.index in matched.found,
        closed=closed,
        newest=newest,
        first_number=matched.first_number,
        warnings=tuple(warnings),
        bound=True,
        open=matched.open,
        turns=tuple(matched.turns),
        recorded=recorded,
    )


def _refused(record: Injection, kept: KeptInjections, filters: Filters) -> str:
    """Which items take the record's text away, by their handles."""
    return ", ".join(item.handle for item in record.items if not may_stand(item, filters, kept))


def may_stand(item: InjectedItem, filters: Filters, kept: KeptInjections | None = None) -> bool:
    """Whether a text with the item may go on standing: as the store says, and where it is unknown (`kept` None) or none of the
    store's, by the sensitivity that the item had."""
    if item.id in filters.exclude:
        return False
    if not item.stored or kept is None:
        return item.sensitivity in filters.sensitivities
    return item.id in kept.present
