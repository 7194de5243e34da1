"""One candidate for each id, and none that the request already contains."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.stages.gather.merge import RequestContents, fresh, merge
from germane.text.normal import content_hash
from germane.types.candidate import Candidate, Provenance
from germane.types.evidence import FEATURES, Evidence
from germane.types.query import Filters
from germane_testing.builders import candidate, message


@pytest.mark.requirement("GATHER-3")
def test_what_several_sources_found_is_one_candidate_with_the_best_evidence_of_each() -> None:
    """A source that didn't look at something says nothing about it."""
    one = candidate("tea", source="messages", evidence=Evidence(own=0.4, window=0.7, length=-1.0, cos_own=-0.2))
    two = candidate("tea", source="recent", evidence=Evidence(recent=0.5, window=0.1))
    (found,) = merge([one, two])
    assert found.evidence == Evidence(own=0.4, window=0.7, length=-1.0, cos_own=-0.2, recent=0.5)
    assert (found.source, found.also) == ("messages", ("recent",))


@pytest.mark.requirement("GATHER-3")
def test_of_two_sensitivities_the_stricter_holds() -> None:
    for other in ("public", "private"):
        (found,) = merge([candidate("tea", sensitivity=other), candidate("tea", source="recent", sensitivity="sensitive")])
        assert found.sensitivity == "sensitive"


@pytest.mark.requirement("GATHER-3")
def test_what_one_source_requires_is_required() -> None:
    (found,) = merge([candidate("tea", source="memories"), candidate("tea", source="structured", required=True)])
    assert (found.required, found.source, found.also) == (True, "structured", ("memories",))


@st.composite
def finds(draw: st.DrawFn) -> list[Candidate]:
    """The same few things, found by several sources with different evidence."""
    pairs = draw(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["history", "memories", "recent"])), unique=True))
    return [
        candidate(
            id,
            id=id,
            source=source,
            sensitivity=draw(st.sampled_from(["public", "private", "sensitive"])),
            evidence=Evidence(
                own=draw(st.floats(0, 1)), cos_own=draw(st.none() | st.floats(-1, 1)), length=draw(st.sampled_from([-1.0, 1.0]))
            ),
        )
        for id, source in pairs
    ]


@pytest.mark.requirement("GATHER-3", "ENGINE-8")
@given(finds(), st.randoms(use_true_random=False))
def test_merging_does_not_depend_on_the_order_of_finds(items: list[Candidate], random: Any) -> None:
    """Nor does it lose anything: each id once, each source named, no evidence weakened."""
    shuffled = list(items)
    random.shuffle(shuffled)
    merged = merge(items)
    assert merged == merge(shuffled)
    assert [one.id for one in merged] == sorted({one.id for one in items})
    for one in merged:
        same = [other for other in items if other.id == one.id]
        assert sorted((one.source, *one.also)) == sorted(other.source for other in same)
        for name in FEATURES:
            values = [value for other in same if (value := getattr(other.evidence, name)) is not None]
            assert abs(getattr(one.evidence, name) or 0) == max(map(abs, values), default=0)


def said(text: str = "I drink tea", *, id: str | None = None, role: str = "user", session: str = "s1") -> Candidate:
    return candidate(
        text,
        id=f"{session}-{id}-{text}",
        session=session,
        content_hash=content_hash(role, text),
        provenance=Provenance(message_id=id),
    )


@pytest.mark.requirement("GATHER-2a")
def test_a_message_of_the_request_is_no_candidate_by_its_id() -> None:
    """Even if it reads differently there, having been edited."""
    assert fresh([said(id="m1")], RequestContents([message("I drink tea, I mean coffee", id="m1")]), Filters()) == ()
    assert len(fresh([said(id="m2")], RequestContents([message("something else", id="m1")]), Filters())) == 1


@pytest.mark.requirement("GATHER-2a")
def test_the_same_id_in_another_session_is_another_message() -> None:
    """Callers count their messages from 1 in every conversation."""
    stored = [said("old talk", id="1", session="s0"), said("new talk", id="1", session="s1")]
    found = fresh(stored, RequestContents([message("hello", id="1")]), Filters(), session="s1")
    assert [one.text for one in found] == ["old talk"]


@pytest.mark.requirement("GATHER-2a")
def test_a_message_of_the_request_is_no_candidate_by_role_and_content() -> None:
    """However its accents are composed, in whatever session; said by another, it is another message."""
    stored = [said("Caf\u00e9", session="s0"), said("Cafe\u0301", role="assistant")]
    found = fresh(stored, RequestContents([message("Cafe\u0301")]), Filters(), session="s1")
    assert [one.session for one in found] == ["s1"]


@pytest.mark.requirement("GATHER-2a")
def test_a_memory_that_reads_like_a_message_stays_a_candidate() -> None:
    """Only messages are said twice."""
    memory = candidate("I drink tea", category="factual", content_hash=content_hash("user", "I drink tea"))
    assert fresh([memory], RequestContents([message("I drink tea")]), Filters()) == (memory,)


@pytest.mark.requirement("GATHER-4")
def test_what_is_excluded_by_id_is_no_candidate() -> None:
    """By germane's id or by the caller's."""
    stored = [said("a", id="m1"), said("b", id="m2"), said("c", id="m3")]
    found = fresh(stored, RequestContents([]), Filters(exclude=frozenset({"m1", stored[1].id})))
    assert [one.text for one in found] == ["c"]


def test_a_message_without_id_or_text_takes_nothing_away() -> None:
    stored = [said("", id=None), said("a", id=None)]
    assert len(fresh(stored, RequestContents([message("")]), Filters())) == 2
