"""Loop bridge: what the port's own event loop changes in the process, and that it is undone."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from germane.grpc.server.port import LoopBridge


@pytest.fixture(autouse=True)
def usual_interval() -> Iterator[float]:
    """A switch interval that no bridge sets, exact in binary; the process's own is put back."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.015625)
    yield 0.015625
    sys.setswitchinterval(before)


async def test_a_bridge_lowers_the_switch_interval_while_it_is_open(usual_interval: float) -> None:
    """The process gets its own value back, however often the bridge is closed."""
    bridge = LoopBridge()
    await bridge.open()
    assert sys.getswitchinterval() < usual_interval
    await bridge.close()
    await bridge.close()
    assert sys.getswitchinterval() == usual_interval


async def test_the_last_of_two_bridges_restores_the_switch_interval(usual_interval: float) -> None:
    """In whichever order they are closed."""
    first, second = LoopBridge(), LoopBridge()
    await first.open()
    lowered = sys.getswitchinterval()
    await second.open()
    await first.close()
    assert sys.getswitchinterval() == lowered
    await second.close()
    assert sys.getswitchinterval() == usual_interval


async def test_a_switch_interval_that_was_set_meanwhile_stays() -> None:
    """The bridge restores only what it has changed itself."""
    bridge = LoopBridge()
    await bridge.open()
    sys.setswitchinterval(0.03125)
    await bridge.close()
    assert sys.getswitchinterval() == 0.03125


async def test_a_shorter_switch_interval_is_left_alone() -> None:
    """Then there is nothing to restore either."""
    sys.setswitchinterval(0.000125)
    bridge = LoopBridge()
    await bridge.open()
    assert sys.getswitchinterval() == 0.000125
    await bridge.close()
    assert sys.getswitchinterval() == 0.000125
