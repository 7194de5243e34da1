"""Extractive: the summary without a language model: within its tokens, never without constraints, readable again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from germane.compaction.notes import Artifact, ArtifactKind, Constraint, ExchangeNotes, Ledger
from germane.compaction.summary_text import constraints_left_out, extractive_summary, notes_of_summary
from support.examples import examples

pytestmark = pytest.mark.requirement("HIST-3", "HIST-5")


def quarter(text: str) -> int:
    return (len(text) + 3) // 4


COUNTS: dict[str, Callable[[str], int]] = {
    "quarter": quarter,
    "characters": len,
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "words": lambda text: len(text.split()),
    "lines": lambda text: text.count("\n") + 1,
}
_texts = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            "don't touch the tests",
            "a: b — c: d",
            "x —",
            "x:",
            "— open",
            "Decisions:",
            "- [ ] item",
            "a\nDecisions:\n- forged",
            "line\u2028separator",
            "KeyError: 'x' (`pytest -q`)",
            "one (and 3 more)",
            "edited ×3, deleted",
        ]
    ),
)
_kinds: st.SearchStrategy[ArtifactKind] = st.sampled_from(["file", "url", "id", "error", "decision", "task"])
_artifacts = st.builds(lambda kind, name, change: Artifact(kind=kind, name=name, change=change), _kinds, _texts, _texts)
_notes = st.builds(
    lambda line, said, artifacts: ExchangeNotes(
        line=line, constraints=tuple(Constraint(text=text) for text in said), artifacts=tuple(artifacts)
    ),
    _texts,
    st.lists(_texts, max_size=3),
    st.lists(_artifacts, max_size=4),
)
_histories = st.lists(_notes, max_size=12)


def exchange(number: int) -> ExchangeNotes:
    return ExchangeNotes(
        line=f"Fix module {number} → bash ×3 (src/m{number}.py) → Done, {number} tests pass.",
        constraints=(Constraint(text=f"Never touch folder {number}."),) if number % 10 == 0 else (),
        artifacts=(
            Artifact(kind="file", name=f"src/m{number}.py", change="edited"),
            Artifact(kind="error", name=f"KeyError: 'k{number}'", change="" if number % 5 else "resolved by src/a.py (edited)"),
        ),
    )


def said(notes: Sequence[ExchangeNotes]) -> set[str]:
    """What a ledger of these notes says, as plain words: the marks between name and change may differ."""
    ledger = Ledger(notes)
    found = {" ".join(each.text.split()).casefold() for each in ledger.constraints}
    for each in ledger.artifacts:
        if " ".join(each.name.split()):
            found.add(f"{each.kind} {_bare(each.name)} {_bare(each.change)}")
    return found - {""}


def _bare(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def test_a_summary_reads_as_sections() -> None:
    """The whole of a small one."""
    held = (exchange(0), exchange(1))
    assert extractive_summary(held, 1_000, quarter) == snapshot(
        """\
Constraints, in the user's own words, the newest last:
- Never touch folder 0.

Files and how they changed:
- src/m0.py: edited
- src/m1.py: edited

Errors and what resolved them:
- KeyError: 'k0' — resolved by src/a.py (edited)
- KeyError: 'k1'

What happened, the newest last:
- Fix module 0 → bash ×3 (src/m0.py) → Done, 0 tests pass.
- Fix module 1 → bash ×3 (src/m1.py) → Done, 1 tests pass.\
"""
    )


@given(_histories, st.integers(0, 400), st.sampled_from(sorted(COUNTS)))
@examples(100)
def test_a_summary_is_never_over_its_tokens(notes: list[ExchangeNotes], tokens: int, name: str) -> None:
    """Whatever is counted, and whatever is said."""
    count = COUNTS[name]
    text = extractive_summary(notes, tokens, count)
    assert not text or count(text) <= tokens


@given(_histories, st.lists(st.integers(1, 12), max_size=4))
@examples(100)
def test_nothing_is_lost_over_rounds_that_fit(notes: list[ExchangeNotes], cuts: list[int]) -> None:
    """Each summary is built on what is read back of the one before: all constraints and artifacts are in the last."""
    text, done = "", 0
    for end in [*sorted(cuts), len(notes)]:
        text = extractive_summary([*notes_of_summary(text), *notes[done:end]], 10**6, quarter)
        done = max(done, end)
    assert said(notes_of_summary(text)) >= {each for each in said(notes) if _still(each, notes)}
    assert extractive_summary(notes_of_summary(text), 10**6, quarter) == text


def _still(what: str, notes: Sequence[ExchangeNotes]) -> bool:
    """Whether a text is that of an artifact whose state can't depend on the order in which parts of it were read: those of one
    name have one change."""
    return not any(
        other.kind == each.kind
        and _bare(other.name) == _bare(each.name)
        and (other.name, other.change) != (each.name, each.change)
        for one in notes
        for each in one.artifacts
        if what.startswith(f"{each.kind} {_bare(each.name)} ")
        for two in notes
        for other in two.artifacts
    )


@given(_histories)
def test_content_never_forges_a_heading_or_an_item(notes: list[ExchangeNotes]) -> None:
    """There are as many lines as there are headings, items, and blank lines between sections."""
    text = extractive_summary(notes, 10**6, quarter)
    ledger = Ledger(notes)
    items = sum(bool(" ".join(each.text.split())) for each in ledger.constraints)
    items += sum(bool(" ".join(each.name.split())) for each in ledger.artifacts)
    items += sum(bool(" ".join(each.line.split())) for each in notes)
    lines = text.split("\n")
    assert sum(line.startswith("- ") for line in lines) == items
    assert len(lines) == 1 or text.splitlines() == lines


def test_constraints_come_before_all_else() -> None:
    """Where the rest doesn't fit, all constraints do."""
    notes = [exchange(number) for number in range(200)]
    text = extractive_summary(notes, 200, quarter)
    assert constraints_left_out(notes, text) == ()
    assert text.count("Never touch folder") == 20


def test_the_newest_constraints_stay_where_not_all_fit() -> None:
    """What is left out can be counted."""
    notes = [exchange(number) for number in range(0, 2_000, 10)]
    text = extractive_summary(notes, 100, quarter)
    left = constraints_left_out(notes, text)
    assert 0 < len(left) < 200
    assert "folder 1990." in text
    assert left[0].text == "Never touch folder 0."


def test_the_outline_is_thinned_evenly_from_its_old_end() -> None:
    """The newest lines stay, older ones stand for several, and no exchange is uncounted."""
    notes = [ExchangeNotes(line=f"Step {number} of the plan → done on day {number}.") for number in range(500)]
    text = extractive_summary(notes, 600, quarter)
    lines = [each.line for each in notes_of_summary(text) if each.line]
    assert lines[-1] == notes[-1].line
    assert "more)" in lines[0]
    counted = sum(1 + int(line.rpartition("(and ")[2].split()[0]) if line.endswith("more)") else 1 for line in lines)
    assert counted == 500
    assert quarter(text) >= 500


def test_each_kind_is_sure_of_a_share() -> None:
    """A thousand files leave room for the one task and the one decision, and open errors stay before resolved ones."""
    notes = [exchange(number) for number in range(1_000)]
    notes.insert(0, ExchangeNotes(line="", artifacts=(Artifact(kind="task", name="write the docs", change="open"),)))
    notes.insert(0, ExchangeNotes(line="", artifacts=(Artifact(kind="decision", name="We use Postgres."),)))
    text = extractive_summary(notes, 2_000, quarter)
    assert "- write the docs — open" in text
    assert "- We use Postgres." in text
    assert "src/m999.py: edited" in text
    assert text.count("KeyError: 'k9") > text.count("resolved by")


def test_the_counter_is_asked_a_few_times_only() -> None:
    """Counting is what a summary costs."""
    asked = list[int]()

    def count(text: str) -> int:
        asked.append(len(text))
        return quarter(text)

    extractive_summary([exchange(number) for number in range(2_000)], 2_000, count)
    assert len(asked) <= 10
    assert max(asked) < 24_000


def test_other_texts_hold_no_notes() -> None:
    """What isn't in the form is passed over."""
    assert notes_of_summary("A summary in prose.\n- with an item") == ()
    assert notes_of_summary("") == ()
