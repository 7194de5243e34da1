"""System parts: which blocks go in within their tokens, and how much is tried."""

from __future__ import annotations

import pytest

from germane.api.builder.system_prompt import pack_blocks
from germane.types.candidate import BlockText

NONCE = "qhzvkdtwmbxr"


def core(label: str, words: int) -> BlockText:
    return BlockText(id=label, label=label, type="core", text="word " * words)


@pytest.mark.requirement("BUILD-2")
def test_after_eight_blocks_in_a_row_that_do_not_fit_no_further_one_is_tried() -> None:
    """A thousand blocks of which a few fit take the time of those few. Seven may be passed over for a smaller one."""
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split())

    large, small = [core(f"a{index}", 500) for index in range(40)], core("z", 3)
    packed = pack_blocks([*large, small], (), available=30, count=count, nonce=NONCE)
    assert (packed.shown, len(counted)) == ((), 8)
    assert {each.reason for each in packed.left_out} == {"budget"}
    assert len(packed.left_out) == 41
    packed = pack_blocks([*large[:7], small], (), available=30, count=count, nonce=NONCE)
    assert [each.block.label for each in packed.shown] == ["z"]
