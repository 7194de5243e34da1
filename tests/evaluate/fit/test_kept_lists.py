"""Kept: candidate lists in a file."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from germane.errors import InvalidInput
from germane_eval.fit.candidates import Candidates, evidence_code, load_candidates, save_candidates
from support.made_lists import made


def test_lists_come_back_as_they_were(tmp_path: Path) -> None:
    """Every field of every list is kept, NaN included."""
    lists, file = made(5), tmp_path / "a.npz"
    save_candidates(file, lists, {"data": "x"})
    again = load_candidates(file, {"data": "x"})
    assert again is not None
    for one, two in zip(lists, again, strict=True):
        for field in fields(Candidates):
            assert np.array_equal(getattr(one, field.name), getattr(two, field.name), equal_nan=field.name == "table")


def test_lists_of_another_origin_are_not_read(tmp_path: Path) -> None:
    """Other data, another embedder or other code make the file stale."""
    save_candidates(tmp_path / "a.npz", made(2), {"embedder": "static"})
    assert load_candidates(tmp_path / "a.npz", {"embedder": "minilm"}) is None
    assert load_candidates(tmp_path / "none.npz", {}) is None


def test_no_lists_at_all_can_be_kept(tmp_path: Path) -> None:
    save_candidates(tmp_path / "a.npz", [], {})
    assert load_candidates(tmp_path / "a.npz", {}) == []


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 broken"])
def test_a_file_that_is_none_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.npz"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"a\.npz"):
        load_candidates(file, {})


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="missing"):
        save_candidates(tmp_path / "missing" / "a.npz", [], {})


def test_the_code_that_makes_evidence_has_a_fingerprint() -> None:
    """The fingerprint is the same for the same code."""
    assert evidence_code() == evidence_code()
    assert len(evidence_code()) == 16
