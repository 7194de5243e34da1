"""Ledger: artifacts of many exchanges, each once with its newest state (HIST-5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.compaction.notes import (
    Artifact,
    ArtifactKind,
    Constraint,
    ErrorResolution,
    ExchangeNotes,
    Ledger,
    folded_change,
    is_open,
)

pytestmark = pytest.mark.requirement("HIST-5")


def notes(*artifacts: Artifact, said: tuple[str, ...] = (), resolutions: tuple[ErrorResolution, ...] = ()) -> ExchangeNotes:
    return ExchangeNotes(
        line="", constraints=tuple(Constraint(text=text) for text in said), artifacts=artifacts, resolutions=resolutions
    )


def one(kind: ArtifactKind, name: str, change: str = "") -> Artifact:
    return Artifact(kind=kind, name=name, change=change)


@pytest.mark.parametrize(
    ("changes", "folded"),
    [
        (["created", "edited", "edited", "edited"], "created, edited ×3"),
        (["created", "edited ×2", "edited"], "created, edited ×3"),
        (["read", "edited"], "edited"),
        (["read", "read"], "read"),
        (["edited", "read"], "edited"),
        (["read", "created"], "edited"),
        (["created", "created"], "created, edited"),
        (["created", "deleted", "created"], "created, deleted, created"),
        (["edited", "renamed to b.py"], "edited, renamed to b.py"),
        (["", "edited"], "edited"),
        (["", ""], ""),
    ],
)
def test_the_changes_of_a_file_fold_with_the_newest_last(changes: list[str], folded: str) -> None:
    """Equal changes in a row are counted, and reading isn't worth a word beside a change."""
    ledger = Ledger(notes(one("file", "src/a.py", change)) for change in changes)
    assert [each.change for each in ledger.of("file")] == [folded]


@given(st.lists(st.sampled_from(["created", "edited", "deleted", "restored", "renamed to b.py"]), min_size=1, max_size=40))
def test_folding_in_parts_keeps_the_newest_change_and_stays_short(changes: list[str]) -> None:
    """However long a history is, the last change stands last, and at most six are told apart."""
    folded = ""
    for change in changes:
        folded = folded_change(folded, change)
    last = folded.rpartition(", ")[2].partition(" ×")[0]
    assert last == changes[-1] or (changes[-1] == "created" and last == "edited")
    assert len(folded.split(", ")) <= 6


def test_an_error_keeps_its_resolution_and_is_open_again_when_it_returns() -> None:
    """The newest state counts."""
    ledger = Ledger([notes(one("error", "KeyError: 'x'"), one("error", "KeyError: 'x'", "resolved by a.py (edited)"))])
    assert [is_open(each) for each in ledger.of("error")] == [False]
    ledger.add(notes(one("error", "KeyError: 'x'")))
    assert [is_open(each) for each in ledger.of("error")] == [True]


@pytest.mark.parametrize("of", ["pytest -q", "KeyError"])
def test_a_later_exchange_resolves_an_error_by_its_command_or_its_type(of: str) -> None:
    """The command succeeds two exchanges later, or the error is said to be fixed."""
    ledger = Ledger([notes(one("error", "KeyError: 'x' (`pytest -q`)")), notes()])
    ledger.add(notes(resolutions=(ErrorResolution(of=of, change="resolved: it passes"),)))
    assert ledger.artifacts == (one("error", "KeyError: 'x' (`pytest -q`)", "resolved: it passes"),)


def test_a_resolution_of_nothing_known_is_nothing() -> None:
    """A command that succeeds has no entry of its own."""
    assert Ledger([notes(resolutions=(ErrorResolution(of="ls", change="resolved: `ls` succeeds"),))]).artifacts == ()


def test_a_resolved_error_named_by_its_type_alone_stays() -> None:
    """As it comes back from a summary."""
    error = one("error", "KeyError", "resolved: fixed by hand")
    assert Ledger([notes(error)]).artifacts == (error,)


def test_tasks_have_their_newest_state() -> None:
    """Done is done, whatever the case and the spaces."""
    ledger = Ledger([notes(one("task", "Write the docs", "open")), notes(one("task", "write  the docs", "done"))])
    assert [each.change for each in ledger.of("task")] == ["done"]


def test_constraints_stand_once_in_the_order_of_their_last_statement() -> None:
    """A demand, its withdrawal, and the demand again: the last word is the demand."""
    ledger = Ledger([notes(said=("Don't touch the tests.",)), notes(said=("You may touch the tests now.",))])
    ledger.add(notes(said=("don't touch  the tests.",)))
    assert [each.text for each in ledger.constraints] == ["You may touch the tests now.", "don't touch  the tests."]
