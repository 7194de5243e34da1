"""The summary shelf: which of what a language model wrote may stand for a span, and whose it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.llm_summary.covered_span import CoveredExchange, CoveredSpan, ShelvedSummary, SummaryShelf
from germane.compaction.notes import ExchangeNotes
from germane.kinds.conversations.value import told_fingerprint, told_span

pytestmark = pytest.mark.requirement("HIST-2", "HIST-3")


def covered(*places: tuple[int, int], fingerprint: str = "h2", earlier: tuple[str, ...] = ("h1",)) -> CoveredSpan:
    exchanges = tuple(
        CoveredExchange(start=start, end=end, messages=(), notes=ExchangeNotes(line=f"from {start}")) for start, end in places
    )
    return CoveredSpan(
        fingerprint=fingerprint, exchanges=exchanges, covers=places[-1][1], max_tokens=200, count=len, earlier=earlier
    )


@pytest.mark.parametrize(
    ("places", "runs"),
    [
        ([(1, 3)], ((1, 3),)),
        ([(1, 3), (3, 6), (6, 7)], ((1, 7),)),
        ([(1, 3), (4, 6), (6, 9), (12, 13)], ((1, 3), (4, 9), (12, 13))),
    ],
)
def test_a_span_has_its_messages_as_runs(places: list[tuple[int, int]], runs: tuple[tuple[int, int], ...]) -> None:
    """Exchanges that stay lie between them."""
    assert covered(*places).runs == runs


@pytest.mark.parametrize(
    ("runs", "rest"),
    [
        (((0, 6),), [8, 10]),
        (((0, 2), (8, 10)), [2, 4, 10]),
        (((0, 12),), None),
        (((0, 3),), None),
        (((6, 8),), None),
        (((0, 6), (6, 8)), None),
    ],
)
def test_sentences_serve_only_for_exchanges_that_have_left(runs: tuple[tuple[int, int], ...], rest: list[int] | None) -> None:
    """The exchange from 6 to 8 stays in the prompt: sentences that stand for it too would say it twice."""
    span = covered((0, 2), (2, 4), (4, 6), (8, 10), (10, 12))
    left = ShelvedSummary(("They met.",), runs).split(span)
    assert (None if left is None else [each.start for each in left]) == rest


def test_an_older_summary_serves_where_a_newer_one_doesn_t() -> None:
    """Of two, the newest that stands for nothing else."""
    shelf, span = SummaryShelf(8), covered((0, 2), (4, 6), fingerprint="h3", earlier=("h1", "h2"))
    shelf.put((), "h1", ShelvedSummary(("They met.",), ((0, 2),)))
    shelf.put((), "h2", ShelvedSummary(("They met and parted.",), ((0, 4),)))
    written, rest = shelf.newest((), span)
    assert written is not None
    assert (written.lines, [each.start for each in rest]) == (("They met.",), [4])


def test_forgetting_an_owner_takes_what_is_below_it() -> None:
    """And nobody is served what is another's."""
    shelf, span = SummaryShelf(8), covered((0, 2), fingerprint="h1", earlier=())
    owners = [("o", "a", "ana", "s"), ("o", "a", "ana", "t"), ("o", "a", None, "s"), ("o", "b", "ana", "s")]
    for owner in owners:
        shelf.put(owner, "h1", ShelvedSummary(("They met.",), ((0, 2),)))
        assert shelf.serve(owner, span, anew=False) is not None
    assert shelf.serve(("o", "a", "ben", "s"), span, anew=False) is None
    shelf.forget(("o", "a", "ana"))
    assert [shelf.serve(owner, span, anew=False) is None for owner in owners] == [True, True, False, False]


edges = st.lists(st.integers(min_value=0, max_value=999_999_999), min_size=2, max_size=20, unique=True).map(sorted)


@given(edges)
def test_a_fingerprint_names_the_messages_that_sentences_stand_for(edges: list[int]) -> None:
    """And is read back."""
    runs = tuple(zip(edges[::2], edges[1::2], strict=False))
    assert told_span(told_fingerprint("h0a1b2c3d4e5f", runs)) == ("h0a1b2c3d4e5f", runs)


@given(st.text(max_size=40) | st.sampled_from(["h1", "h1-aa", "h1 ", " 1-2", "h1 2-1", "h1 1-2 2-3", "h1 1-2 x", "h1 ١-٢"]))
def test_nothing_else_is_read_as_one(text: str) -> None:
    """Whatever an import holds."""
    found = told_span(text)
    assert found is None or told_fingerprint(*found).split(" ")[0] == text.split(" ")[0]
    if text in ("h1", "h1-aa", "h1 ", " 1-2", "h1 2-1", "h1 1-2 2-3", "h1 1-2 x", "h1 ١-٢"):
        assert found is None
