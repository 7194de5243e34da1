"""The limit of open files: raised up to the hard limit, never lowered."""

from __future__ import annotations

import resource

import pytest

from germane.service.worker import _connection_limits, raise_file_limit

pytestmark = pytest.mark.requirement("OPS-1")

ENDLESS = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("now", "maximum", "asked", "answer"),
    [
        (1024, 524_288, (32_768, 524_288), 32_768),
        (1024, 4096, (4096, 4096), 4096),
        (1024, ENDLESS, (32_768, ENDLESS), 32_768),
        (65_536, 524_288, None, 65_536),
        (ENDLESS, ENDLESS, None, 32_768),
    ],
)
def test_the_limit_is_raised_as_far_as_it_may_be(
    monkeypatch: pytest.MonkeyPatch, now: int, maximum: int, asked: tuple[int, int] | None, answer: int
) -> None:
    """And never lowered."""
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (now, maximum))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: told.append(limits))
    assert raise_file_limit() == answer
    assert told == ([] if asked is None else [asked])


def test_a_system_that_refuses_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer connections, then."""

    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, ENDLESS))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_file_limit() == 256
    assert (_connection_limits(256).max_connections, _connection_limits(256).max_per_address) == (64, 32)
