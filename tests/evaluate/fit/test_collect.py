"""Collect: the candidates of a data set's questions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from germane import Message
from germane.search.relevance import Relevance, shipped
from germane.types.evidence import FEATURES
from germane_eval.dataset import Conversation, Dataset, Question
from germane_eval.everyday import TurnWithoutNeed
from germane_eval.fit.candidates import NEIGHBOURS, rescore
from germane_eval.fit.collect import collect_candidates
from germane_eval.fit.fitting import Options, refit, shipped_tables
from germane_testing.builders import Hashed

_BEGIN = datetime(2025, 5, 1, 9, 0, tzinfo=UTC)
_SUBJECTS = ("kayak", "piano", "garden", "violin", "bakery", "marathon", "telescope", "ceramics")

_WORDS = [f"{one}{two}{three}" for one in "bdfk" for two in "aeiou" for three in "lnr"]


def _doubtful() -> Relevance:
    """A model that gives no candidate more than one in thirty thousand."""
    return replace(shipped(), intercepts=shipped().intercepts - 10)


def conversation(name: str, role: str = "user") -> Conversation:
    """A conversation of two sessions; each subject is mentioned once, and has a question."""
    said = [
        Message.of(
            role,  # type: ignore[arg-type]
            f"I bought a {subject} last week and it was rather cheap",
            id=f"m{number}",
            name=("Ana", "Ben")[number % 2],
            created_at=_BEGIN + timedelta(days=number),
        )
        for number, subject in enumerate(_SUBJECTS)
    ]
    asked = [
        Question(id=f"q{number}", text=f"What about the {subject}?", evidence=frozenset({f"m{number}"}), category="plain")
        for number, subject in enumerate(_SUBJECTS)
    ]
    return Conversation(name=name, sessions={"s1": said[:4], "s2": said[4:]}, questions=asked)


def dataset(*names: str) -> Dataset:
    return Dataset(name="small", format="requests", conversations=[conversation(name) for name in names])


@pytest.mark.requirement("SCORE-2")
async def test_each_question_gives_the_evidence_of_all_that_is_found() -> None:
    """Candidates far below any floor are kept too, because a fit learns from irrelevant ones as well."""
    told: list[tuple[int, int]] = []
    found = await collect_candidates(
        dataset("one", "two"), embedder=Hashed(), progress=lambda done, total: told.append((done, total))
    )
    assert told[-1] == (16, 16)
    assert [one.question for one in found[:8]] == [f"q{number}" for number in range(8)]
    first = found[0]
    assert (first.conversation, first.wanted, first.units) == ("one", 1, 8)
    assert 2 <= len(first) <= 8
    assert first.relevant.sum() == 1
    assert not np.isnan(first.table[:, FEATURES.index("cos_window")]).any()
    assert first.table[first.relevant, FEATURES.index("own")] == first.table[:, FEATURES.index("own")].max()


async def test_the_faintest_is_found_too() -> None:
    """Sixty messages share only a common word with the question, and no floor would let them pass."""
    said = [Message.of("user", f"{word * 2} was cheap", id=f"m{at}", created_at=_BEGIN) for at, word in enumerate(_WORDS)]
    asked = Question(id="q", text="Which was cheap, the kayak or the piano or the violin?", evidence=frozenset({"m0"}))
    one = Conversation(name="one", sessions={"s": said}, questions=[asked])
    (found,) = await collect_candidates(
        Dataset(name="x", format="requests", conversations=[one]), embedder=Hashed(), relevance=_doubtful()
    )
    assert len(found) == 60


async def test_what_showing_would_cost_is_known() -> None:
    """The costs are tokens of the line, of its header and of the wrapper; each day has a header here."""
    (first, *_) = await collect_candidates(dataset("one"), embedder=Hashed())
    assert (first.cost > 10).all()
    assert (first.header > 3).all()
    assert len(set(first.group.tolist())) == len(first)
    assert first.fixed > 10
    assert first.share.tolist() == [1.0] * len(first)


async def test_a_question_is_asked_an_hour_after_the_end_or_at_its_own_time() -> None:
    own = datetime(2026, 1, 1, tzinfo=UTC)
    asked = dataset("one")
    one = asked.conversations[0]
    later = Question(id="own", text="What about the piano?", evidence=frozenset({"m1"}), at=own)
    changed = Conversation(name="one", sessions=one.sessions, questions=[one.questions[0], later])
    found = await collect_candidates(Dataset(name="x", format="requests", conversations=[changed]), embedder=Hashed())
    assert [one.at for one in found] == [(_BEGIN + timedelta(days=7, hours=1)).timestamp(), own.timestamp()]


async def test_keywords_alone_are_asked_too_where_that_is_wanted() -> None:
    """These lists belong to the columns for search without vectors."""
    found = await collect_candidates(dataset("one"), embedder=Hashed(), keywords=True)
    assert [one.keywords for one in found] == [False, True] * 8
    assert all(np.isnan(one.table[:, FEATURES.index("cos_window")]).all() == one.keywords for one in found)


async def test_at_most_so_many_candidates_are_kept() -> None:
    found = await collect_candidates(dataset("one"), embedder=Hashed(), limit=2)
    assert {len(one) for one in found} == {2}


async def test_a_model_can_be_fitted_to_what_was_found() -> None:
    """The fitted coefficients put the answer first in held-out conversations."""
    lists = await collect_candidates(dataset("one", "two", "three"), embedder=Hashed())
    found = refit(lists, shipped_tables(), Options(l2=1.0))
    firsts = [one.relevant[int(np.argmax(odds))] for one, odds in zip(lists, found.after, strict=True)]
    assert np.mean(firsts) > 0.9


async def test_a_kept_list_gets_the_neighbours_that_its_search_had() -> None:
    """Its places in sessions stand for the links of the store."""
    raised = replace(shipped(), intercepts=shipped().intercepts + 40)
    for one in await collect_candidates(dataset("one"), embedder=Hashed()):
        assert rescore(one, raised).table[:, NEIGHBOURS] == pytest.approx(one.table[:, NEIGHBOURS])
        assert one.table[:, NEIGHBOURS].any()


async def test_requests_without_evidence_are_told_from_the_turns_that_come_along() -> None:
    """Neither needs memory; the former are the data set's own. Who asks is part of a request."""
    one = conversation("one")
    asked = [one.questions[0], Question(id="thanks", text="Thank you, Ben", evidence=frozenset(), category="none", name="Ana")]
    turn = TurnWithoutNeed(id=1, language="en", kind="thanks", half="fit", text="Thanks a lot, and what about the piano?")
    data = Dataset(name="x", format="everyday", conversations=[replace(one, questions=asked)])
    found = await collect_candidates(data, embedder=Hashed(), turns=[turn])
    assert [(one.question, one.category, one.needed, one.shipped) for one in found] == [
        ("q0", "plain", True, False),
        ("thanks", "none", False, False),
        ("turn 1", "thanks", False, True),
    ]
