"""Any set: a data set in each format, with any value at any place, is read, or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from germane.errors import InvalidInput
from germane_eval.formats import load
from support.replaced import replaced
from support.small_sets import beam, everyday, locomo, longmemeval, realtalk, written

pytestmark = pytest.mark.requirement("EVAL-1")

SETS: dict[str, Any] = {
    "locomo": locomo(),
    "realtalk": realtalk(),
    "longmemeval": [longmemeval()],
    "everyday": everyday(),
}


def said_of(path: Path, read: Path, documents: Iterable[Any]) -> set[str]:
    """What comes out of `load(read)` but a data set and `InvalidInput`, as each document is written to `path`."""
    wrong = set[str]()
    for document in documents:
        path.write_text(json.dumps(document))
        try:
            load(read)
        except InvalidInput:
            continue
        except Exception as error:
            wrong.add(f"{type(error).__name__}: {str(error)[:80]}")
    return wrong


@pytest.mark.parametrize("kind", SETS)
def test_any_value_at_any_place_of_a_file_is_read_or_refused(kind: str, tmp_path: Path) -> None:
    """A broken label costs one question, and a broken file gets a reason."""
    path = written(tmp_path / "set.json", SETS[kind])
    assert load(path).format == kind
    assert not said_of(path, path, replaced(SETS[kind]))


@pytest.mark.parametrize("name", ["chat.json", "probing_questions.json"])
def test_any_value_at_any_place_of_a_chat_is_read_or_refused(name: str, tmp_path: Path) -> None:
    """Of either file of a BEAM chat."""
    folder = beam(tmp_path / "1")
    assert load(folder).format == "beam"
    assert not said_of(folder / name, folder, replaced(json.loads((folder / name).read_text())))
