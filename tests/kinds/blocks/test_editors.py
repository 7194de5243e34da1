"""Editors: three copies of one block that are edited at once, with reordered and doubled deltas and crashes."""

from __future__ import annotations

from random import Random

from bench.block_editors import Editors
from bench.blocks import editors, stored
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support.examples import examples

WHO, SEED = st.integers(0, 2), st.integers(0, 2**32)


class ThreeEditors(RuleBasedStateMachine):
    """Whatever happens: in the end all copies are the same, counters are exact, and each acknowledged edit that isn't undone is
    there."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Editors()
        self.depth = [[0, 0] for _ in range(3)]

    @rule(who=WHO, seed=SEED, crash=st.booleans())
    def edit(self, who: int, seed: int, crash: bool) -> None:
        self.block.edit(who, Random(seed), crash=crash and seed % 4 == 0)
        self.depth[who] = [len(self.block.copies[who].done), len(self.block.copies[who].undone)]

    @rule(who=WHO)
    def undo(self, who: int) -> None:
        done, undone = self.depth[who]
        assert self.block.undo(who) == (done > 0)
        self.depth[who] = [done - 1, undone + 1] if done else [done, undone]

    @rule(who=WHO)
    def redo(self, who: int) -> None:
        done, undone = self.depth[who]
        assert self.block.redo(who) == (undone > 0)
        self.depth[who] = [done + 1, undone - 1] if undone else [done, undone]

    @rule(who=WHO, seed=SEED)
    def deliver(self, who: int, seed: int) -> None:
        self.block.deliver(who, Random(seed))

    @rule(who=WHO)
    def crash(self, who: int) -> None:
        before = self.block.copies[who].document.value()
        self.block.crash(who)
        assert self.block.copies[who].document.value() == before

    @rule(who=WHO)
    def consolidate(self, who: int) -> None:
        self.block.consolidate(who)

    @rule(seed=SEED)
    def settle(self, seed: int) -> None:
        self.block.settle(Random(seed))
        assert self.block.faults() == []

    @invariant()
    def depths_are_known(self) -> None:
        assert self.depth == [[len(copy.done), len(copy.undone)] for copy in self.block.copies]


TestThreeEditors = ThreeEditors.TestCase
TestThreeEditors.settings = examples(15, stateful_step_count=25, suppress_health_check=list(HealthCheck))


def test_copies_converge_and_keep_each_acknowledged_edit() -> None:
    """`bench blocks` takes 100,000 steps."""
    assert editors(1_000, seed=2) == []


def test_the_model_notices_a_lost_edit() -> None:
    """An edit that isn't delivered, and a copy that lacks what was acknowledged."""
    random, block = Random(1), Editors()
    for _ in range(6):
        block.edit(0, random)
    block.outbox[0].pop()
    block.settle(random)
    assert "the copies differ" in block.faults()


def test_what_is_stored_stays_within_five_times_the_text() -> None:
    """With the whole text replaced each time; `bench blocks` makes 10,000 edits."""
    most, *_ = stored(60, seed=1, whole=True)
    assert most <= 5
