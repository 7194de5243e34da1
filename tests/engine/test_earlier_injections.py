"""Which texts stand: matching of turns and records, and the room that the budget keeps for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.engine.earlier_injections import EarlierTexts, find_earlier_texts
from germane.engine.turns import HumanTurn, human_turns, match_records, match_turns
from germane.kinds.injections import Injection, KeptInjections
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.trace import InjectedItem
from germane_testing.injection_contract import head_of

pytestmark = pytest.mark.requirement("INJECT-6")

NOW = datetime(2024, 5, 8, tzinfo=UTC)
KEY = b"key"


def said(*texts: str) -> tuple[Message, ...]:
    """A conversation in which the user begins."""
    return tuple(Message.of("assistant" if index % 2 else "user", text) for index, text in enumerate(texts))


def record(turn: HumanTurn, occurrence: int = 1, tokens: int = 10) -> Injection:
    return Injection(
        turn=turn.key,
        said=turn.said,
        occurrence=occurrence,
        text=f"text of {turn.index}",
        tokens=tokens,
        tokenizer="t",
        last_handle=turn.index + 1,
        items=(InjectedItem(handle=f"m{turn.index + 1}", id=f"id{turn.index}", content_hash=1, source="memories"),),
        created_at=NOW,
    )


def standing(turns: Sequence[HumanTurn], records: Sequence[Injection], available: int = 1000, cap: int = 1000) -> EarlierTexts:
    return standing_with(turns, records, {item.id: 1 for one in records for item in one.items}, Filters(), available, cap)


def standing_with(
    turns: Sequence[HumanTurn],
    records: Sequence[Injection],
    allowed: Mapping[str, int],
    filters: Filters,
    available: int = 1000,
    cap: int = 1000,
) -> EarlierTexts:
    """What stands where the store reads only the records that are wanted."""
    heads = [head_of(one) for one in records]
    matched = match_records(turns, heads, open=True, available=available, cap=cap, per_text=0, now=NOW)
    whole = tuple(one for one in records if one.key in matched.wanted("t").keys)
    kept = KeptInjections(tuple(heads), whole, allowed)
    return find_earlier_texts(matched, kept, filters, available=available, per_text=0, tokens=lambda one: one.tokens)


def test_a_turn_is_its_content_and_the_message_before() -> None:
    """System messages don't count; the key of the hashes does."""
    first = human_turns(said("a", "b", "ok", "c", "ok"), KEY)
    assert len({turn.key for turn in first}) == 3
    assert first[1].said == first[2].said
    assert [turn.first for turn in first] == [True, False, False]
    messages = said("a", "b", "ok")
    spaced = (Message.of("system", "x"), *messages[:2], Message.of("system", "y"), messages[2])
    assert [turn.key for turn in human_turns(spaced, KEY)] == [turn.key for turn in human_turns(messages, KEY)]
    assert human_turns(messages, b"other")[0].key != human_turns(messages, KEY)[0].key


def test_the_same_turn_twice_is_matched_in_order() -> None:
    """From the first where the request has more, from the last where its window was trimmed."""
    turns = human_turns(said("q", "a", "ok", "a", "ok", "a", "ok"), KEY)
    one, two = record(turns[1], 1), record(turns[2], 2)
    assert match_turns(turns, [one, two], open=True) == {2: one, 4: two}
    trimmed = human_turns(said("a", "b", "c", "a", "ok", "x", "y")[3:], KEY)
    assert match_turns(trimmed, [one, two], open=True) == {1: two}


def test_the_first_turn_of_a_trimmed_window_is_known_by_its_content() -> None:
    """The latest one that is older than the next turn's; the newest turn isn't known so."""
    turns = human_turns(said("x", "a", "ok", "b", "and", "c", "ok", "d", "new"), KEY)
    records = [record(turn) for turn in turns[:-1]]
    window = said("x", "a", "ok", "b", "and", "c", "ok", "d", "new")[2:]
    assert match_turns(human_turns(window, KEY), records, open=True) == {
        0: records[1],
        2: records[2],
        4: records[3],
    }
    assert match_turns(human_turns(said("ok"), KEY), records, open=True) == {}
    assert match_turns(human_turns(said("ok", "wait"), KEY), records, open=False) == {0: records[3]}


def test_a_record_older_than_its_predecessors_is_another_turns() -> None:
    """A trimmed window, and words that repeat: the newest turn is new."""
    turns = human_turns(said("q", "a", "ok", "b", "more", "a", "ok"), KEY)
    records = [record(turn) for turn in turns[:3]]
    window = human_turns(said("q", "a", "ok", "b", "more", "a", "ok")[4:], KEY)
    assert match_turns(window, records, open=True) == {0: records[2]}


def test_a_text_stands_only_as_long_as_everything_in_it_may_be_shown() -> None:
    """Forgotten, changed or excluded: the text goes, and the trace names the item."""
    turns = human_turns(said("a", "b", "c"), KEY)
    one = record(turns[0])
    for allowed, filters in (({}, Filters()), ({"id0": 2}, Filters()), ({"id0": 1}, Filters(exclude=frozenset({"id0"})))):
        found = standing_with(turns, [one], allowed, filters)
        assert found.texts == ()
        assert "m1 was forgotten" in found.warnings[0]
    assert [text.text for text in standing(turns, [one]).texts] == ["text of 0"]


@pytest.mark.parametrize("text", ["", "text of 4"])
def test_the_newest_turn_keeps_its_text_as_long_as_what_it_relies_on_stands(text: str) -> None:
    """Else it is assembled anew, under the same record, and its old text takes no room from the others."""
    turns = human_turns(said("a", "b", "c", "d", "e"), KEY)
    first, second = record(turns[0], tokens=40), record(turns[1], tokens=40)
    own = replace(record(turns[2], tokens=900), text=text, relies_on=("id0", "id2"))
    kept = standing(turns, [first, second, own])
    assert (kept.closed, kept.new) == (True, None)
    edited = human_turns(said("edited", "b", "c", "d", "e"), KEY)
    anew = standing(edited, [first, second, own])
    assert (anew.closed, anew.new, anew.replaces, anew.occurrence) == (False, edited[2], True, 1)
    assert [one.turn for one in anew.texts] == [2]
    assert len(anew.warnings) == bool(text)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.integers(0, 1000))
def test_earlier_texts_stay_within_seven_eighths_of_the_budget_and_seldom_move(sizes: list[int], available: int) -> None:
    """Turn by turn: never over the budget; a text that is gone stays gone; what goes are the oldest, down to a quarter."""
    turns = human_turns(said(*(word for number in range(len(sizes) + 1) for word in (f"q{number}", f"a{number}"))), KEY)
    gone = -1
    for count in range(1, len(sizes) + 1):
        records = [record(turn, tokens=size) for turn, size in zip(turns, sizes[:count], strict=False)]
        found = standing(turns[: count + 1], records)
        shown = [text.turn for text in found.texts]
        oldest = min(shown, default=2 * count)
        assert found.tokens <= 875
        assert shown == list(range(oldest, 2 * count, 2))
        assert oldest >= gone
        if oldest > max(gone, 0) and shown:
            assert found.tokens <= 250
        gone = oldest
        assert standing(turns[: count + 1], records, available).cost <= available


def test_the_newest_turn_keeps_its_text_however_long() -> None:
    """While tools run for it; with the next turn it may go."""
    turns = human_turns(said("a", "b", "c"), KEY)
    long = record(turns[0], tokens=900)
    assert standing(turns[:1], [long]).closed
    found = standing(turns, [long])
    assert found.texts == ()
    assert "dropped: the budget has no room" in found.warnings[0]
    assert not standing(turns[:1], [long], available=800).closed


def test_of_a_long_session_only_texts_that_may_stand_are_read() -> None:
    """However many records there are, and however many of their turns the request holds."""
    turns = human_turns(said(*(word for number in range(301) for word in (f"q{number}", f"a{number}"))), KEY)
    records = [record(turn, tokens=40) for turn in turns[:-1]]
    matched = match_records(turns, [head_of(one) for one in records], open=True, available=400, cap=400, per_text=0, now=NOW)
    assert len(matched.found) == 300
    shown = [text.turn for text in standing(turns, records, 400, 400).texts]
    assert 1 <= len(shown) <= 8
    assert matched.wanted("t").keys == {records[index // 2].key for index in shown}
    waiting = match_records(turns, records, open=True, available=400, cap=400, per_text=0, now=NOW)
    assert waiting.wanted("t")[:2] == (frozenset(), {f"id{index}" for index in shown})


def test_a_text_without_room_isnt_said_to_be_withdrawn() -> None:
    """Nothing was asked about its items, neither of a stored record nor of one that waits to be written."""
    turns = human_turns(said("a", "b", "c", "d", "e"), KEY)
    records = [record(turn, tokens=300) for turn in turns[:2]]
    for heads in ([head_of(one) for one in records], records):
        matched = match_records(turns, heads, open=True, available=300, cap=300, per_text=0, now=NOW)
        kept = KeptInjections(tuple(heads), (), {})
        found = find_earlier_texts(matched, kept, Filters(), available=300, per_text=0, tokens=lambda one: one.tokens)
        assert found.warnings == ("the texts injected for messages 0, 2 are dropped: the budget has no room",)


def test_texts_that_another_tokenizer_counted_are_counted_anew() -> None:
    """All of them are read for that, so that the budget keeps the same room as if they had been counted so from the start."""
    turns = human_turns(said(*(word for number in range(21) for word in (f"q{number}", f"a{number}"))), KEY)
    records = [record(turn, tokens=40) for turn in turns[:-1]]
    matching = partial(match_records, turns, open=True, available=1000, cap=1000, per_text=0, now=NOW)
    before = matching([replace(head_of(one), tokenizer="u" if one in records[:5] else "t") for one in records])
    assert [one.key for one in before.counted_otherwise("t")] == [one.key for one in records[:5]]
    assert before.wanted("t").keys == {one.key for one in records}
    anew = matching(before.heads, counts={one.key: 80 for one in records[:5]})
    from_the_start = matching([replace(head_of(one), tokens=80 if one in records[:5] else 40) for one in records])
    assert anew.room == from_the_start.room != before.room
