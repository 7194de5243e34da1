"""Long documents: no call of Loro's holds the interpreter's lock for the whole of a long text."""

from __future__ import annotations

from typing import Any, cast

import pytest
from loro import LoroDoc

from germane.kinds.blocks import document as block_document
from germane.kinds.blocks.document import BlockDocument
from germane.kinds.blocks.mutation import AppendText, SetText
from germane.kinds.blocks.schema import TextSchema

pytestmark = pytest.mark.requirement("BLK-4", "ENGINE-4")
TEXT = TextSchema()
_STEP = 8_000


class Watched:
    """A document that notes the operations that each call for another version goes over, and the changes of each batch."""

    def __init__(self, document: Any) -> None:
        self._document = document
        self.jumps, self.batches = list[int](), list[int]()

    def checkout(self, version: Any) -> None:
        before = self._document.state_vv.get_last(1)
        self._document.checkout(version)
        self.jumps.append(abs(before - self._document.state_vv.get_last(1)))

    def import_batch(self, deltas: list[bytes]) -> Any:
        self.batches.append(len(deltas))
        return self._document.import_batch(deltas)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._document, name)


def test_another_version_is_shown_in_small_steps() -> None:
    """Back and forth. One call for all would take longer than all steps, and nothing else would run meanwhile."""
    document = BlockDocument.new(TEXT, "x" * 50_000, peer=1)
    first = document.frontiers()
    document.apply(SetText(text="y" * 50_000))
    second = document.frontiers()
    document.apply(SetText(text="z" * 50_000))
    past = Watched(document._document.fork())
    for version, letter in ((first, "x"), (second, "y"), (first, "x")):
        document._go(cast("Any", past), version)
        assert BlockDocument(past._document, TEXT).text() == letter * 50_000
    assert sum(past.jumps) == 200_000 + 100_000 + 100_000
    assert max(past.jumps) <= _STEP


def test_changes_in_their_order_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch computes the whole text anew, in one call; it reads what comes in another order."""
    document = BlockDocument.new(TEXT, "one", peer=1)
    deltas = [document.delta(BlockDocument.load(TEXT, None).frontiers())]
    for word in (" two", " three"):
        before = document.frontiers()
        document.apply(AppendText(text=word))
        deltas.append(document.delta(before))
    watched = list[Watched]()

    def empty(_: object = None) -> Any:
        watched.append(Watched(LoroDoc()))  # type: ignore[no-untyped-call]
        return watched[-1]

    monkeypatch.setattr(block_document, "_empty", empty)
    for given, batches in ((deltas, []), (deltas[::-1], [2])):
        assert BlockDocument.load(TEXT, None, given).text() == "one two three"
        assert watched.pop().batches == batches
