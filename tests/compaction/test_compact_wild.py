"""Compact, on wild conversations: valid for every provider and strategy, within the budget, with the last words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import message_tokens
from germane.compaction.plan import Compaction
from germane.compaction.strategy import CompactionStrategy, Importance, Summarise, TimeDecay, Truncate
from germane.dialects.registry import dialect, parse, parse_all
from germane.integrations import MemoryArchive, compact
from germane.integrations.compactor import tokenizer
from germane.text.normal import valid_unicode
from germane.types.message import Message, Wire, is_human, system_text
from support.examples import examples
from support.wild_conversations import conversations, dicts

pytestmark = pytest.mark.requirement("HIST-5")

MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro", "openai-responses": "gpt-5"}
strategies: st.SearchStrategy[CompactionStrategy] = st.one_of(
    st.builds(Summarise, keep_outputs=st.integers(0, 3), mask=st.booleans(), summary_tokens=st.sampled_from([0, 50, 2000])),
    st.builds(Truncate, keep_recent=st.integers(0, 20), keep_outputs=st.integers(0, 3)),
    st.builds(Importance, keep_recent=st.integers(0, 3), keep_important=st.integers(0, 3), keep_outputs=st.integers(0, 3)),
    st.builds(TimeDecay, half_life=st.sampled_from([0.5, 3, 40]), keep_outputs=st.integers(0, 3)),
)
raws: st.SearchStrategy[list[Any]] = st.one_of(
    st.lists(dicts, min_size=1, max_size=5).map(lambda lists: [raw for each in lists for raw in each]),
    st.lists(conversations, min_size=1, max_size=5).map(lambda lists: [raw for each in lists for raw in each]),
)


def counted(compaction: Compaction, model: str) -> int:
    """Tokens of the messages and of their own system prompt, counted anew."""
    profile = Catalog.built_in().find(model)
    count = tokenizer(profile.tokenizer).count
    target = dialect(compaction.provider)
    total = sum(message_tokens(target.parse(raw), profile, count) for raw in compaction.messages)
    if compaction.system is not None:
        total += message_tokens(Message.of("system", system_text(compaction.system)), profile, count)
    return total + profile.per_request


def check(compaction: Compaction, given: list[Any], model: str) -> None:
    wire = Wire(messages=compaction.messages, system=compaction.system)
    assert dialect(compaction.provider).problems(wire) == ()
    tokens = counted(compaction, model)
    assert tokens == compaction.tokens
    assert tokens <= compaction.max_tokens or not compaction.fits
    assert compaction.fits or compaction.trace.reasons
    written = valid_unicode("\n".join(parse(raw, compaction.provider).content for raw in compaction.messages))
    messages = parse_all(given, compaction.provider)
    human = [message for message in messages if is_human(message)]
    for part in human[-1].text.split("\n") if human else ():
        assert valid_unicode(part.strip()) in written


@pytest.mark.parametrize("provider", MODELS)
@examples(80, suppress_health_check=[HealthCheck.too_slow])
@given(given=raws, strategy=strategies, tokens=st.integers(0, 1_500), low=st.sampled_from([0.0, 0.5, 0.9, 1.0]))
def test_whatever_comes_in_what_goes_out_is_valid_and_fits(
    provider: str, given: list[Any], strategy: CompactionStrategy, tokens: int, low: float
) -> None:
    """Or says that it doesn't fit."""
    archive = MemoryArchive()
    model = MODELS[provider]
    compaction = compact(
        given, model=model, max_tokens=tokens, provider=provider, strategy=strategy, archive=archive, low_water=low
    )
    check(compaction, given, model)
    assert set(compaction.cited) <= set(compaction.entries)
    again = compact(given, model=model, max_tokens=tokens, provider=provider, strategy=strategy, archive=archive, low_water=low)
    assert again.messages == compaction.messages
    more: list[Mapping[str, Any]] = [*compaction.messages, {"role": "user", "content": "and then?"}]
    if provider != "gemini":
        check(compact(more, model=model, max_tokens=tokens, provider=provider, strategy=strategy, archive=archive), more, model)
