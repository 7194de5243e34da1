"""The fast path for plain dicts gives the same messages as the dialects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.clock import Clock
from germane.dialects.registry import is_plain, parse, parse_all, plain_to_send
from germane.stages.inject import inject
from germane.types.request import Request
from germane.types.scope import Scope

PROVIDERS = ("openai", "anthropic", "gemini")
plain_dicts = st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": st.text(max_size=9)})
other = st.sampled_from(
    [
        {"role": "user", "content": "x", "id": "1"},
        {"id": "2", "role": "assistant", "content": "", "created_at": 5},
        {"role": "user", "content": "x", "name": "Ann Lee"},
        {"role": "developer", "content": "x"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "tool", "tool_call_id": "c", "content": "x"},
    ]
)


def asked(raws: list[dict[str, Any]]) -> Request:
    return Request(
        scope=Scope(), messages=parse_all(raws), raw=tuple(raws), model="gpt-4o", provider="openai", at=Clock().now()
    )


@pytest.mark.requirement("INJECT-4")
@pytest.mark.parametrize("provider", PROVIDERS)
@given(st.lists(plain_dicts, max_size=4))
def test_plain_dicts_are_read_as_the_dialect_reads_them(provider: str, raws: list[dict[str, Any]]) -> None:
    assert parse_all(raws, provider) == tuple(parse(raw, provider) for raw in raws)


@pytest.mark.requirement("INJECT-1", "INJECT-2", "INJECT-4")
@pytest.mark.parametrize("placement", ["first", "split"])
@pytest.mark.parametrize(("stable", "late"), [("", ""), ("Be brief.", ""), ("", "Tea."), ("Be brief.", "Tea.")])
@given(st.lists(plain_dicts | other, min_size=1, max_size=5))
def test_the_short_way_writes_what_the_long_one_does(
    placement: Any, stable: str, late: str, raws: list[dict[str, Any]]
) -> None:
    """To the very objects."""
    request = asked(raws)
    quick = inject(request, stable, late, placement=placement)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("germane.stages.inject.plain_to_send", lambda *_: None)
        slow = inject(request, stable, late, placement=placement)
    assert (quick.messages, quick.system, quick.added) == (slow.messages, slow.system, slow.added)
    for one, two in zip(quick.messages, slow.messages, strict=True):
        assert (one is two) == any(two is raw for raw in raws)


@pytest.mark.parametrize(
    "raw",
    [None, "x", [], {}, {"role": "user"}, {"role": [], "content": "x"}, {"role": "user", "content": None}, {"role": "tool"}],
    ids=repr,
)
def test_what_is_not_plain_is_looked_at(raw: Any) -> None:
    """Whatever it is, nothing is raised here."""
    assert not is_plain(raw)
    assert plain_to_send([{"role": "user", "content": "x"}, raw], "openai") is None
    assert plain_to_send([{"role": "user", "content": "x"}], "anthropic") is None
