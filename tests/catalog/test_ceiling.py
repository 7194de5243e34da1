"""Upper bounds of a request's cost from its size alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.catalog.profiles import Catalog
from germane.catalog.request_tokens import Ceiling, at_most, is_light, measure
from germane.models.tokenizers import open_tokenizer
from germane.types.message import Image, Message, Text, ToolCall, ToolResult
from support.examples import examples

CATALOG = Catalog.built_in()
texts = st.text(max_size=60) | st.text("abc 0123456789\n<|>ü漢字ก", max_size=200)
parts = st.one_of(
    texts.map(Text),
    st.builds(ToolCall, id=texts, name=texts, arguments=texts),
    st.builds(ToolResult, call_id=texts, text=texts),
    st.builds(Image, width=st.integers(1, 2000), height=st.integers(1, 2000)),
)
messages = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "system"]),
        parts=st.lists(parts, max_size=3).map(tuple),
        name=st.none() | texts,
    ),
    max_size=6,
)
tools = st.lists(st.dictionaries(texts, texts, max_size=3), max_size=2)


@pytest.mark.requirement("BUD-2", "BUD-4", "ENGINE-4")
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "llama-3.1-8b", "nobody-knows-it"])
@examples(60)
@given(messages, tools)
def test_the_ceiling_is_never_less_than_the_count_nor_its_room_more(
    model: str, said: list[Message], given: list[dict[str, str]]
) -> None:
    """For every kind of part, exact and estimated tokenizers, and without any."""
    profile = CATALOG.find(model)
    tokenizer = open_tokenizer(profile.tokenizer)
    counted = measure(said, given, profile, tokenizer, 8000)
    found = at_most(said, given, profile, tokenizer, 8000)
    assert found.messages >= counted.messages
    assert found.tools >= counted.tools
    assert found.available <= counted.available
    assert not (counted.exceeds_window and not found.exceeds_window)
    if tokenizer.exact:
        assert at_most(said, given, profile, Ceiling(), 8000).available <= counted.available


@pytest.mark.requirement("BUD-2", "ENGINE-4")
@pytest.mark.parametrize("text", ["𓀀𓁐𓂀" * 50, "ﷺ๎󠁁" * 50, "1234567890" * 50, "\x00\x01" * 50], ids=ascii)
def test_not_even_the_rarest_characters_cost_more_than_their_bytes(text: str) -> None:
    """Up to four tokens each."""
    for model in ("gpt-4o", "claude-sonnet-4-5", "nobody-knows-it"):
        profile = CATALOG.find(model)
        tokenizer = open_tokenizer(profile.tokenizer)
        said = [Message.of("user", text)]
        least = measure(said, (), profile, tokenizer, 8000).messages
        assert at_most(said, (), profile, tokenizer, 8000).messages >= least
        assert Ceiling().count(text) >= open_tokenizer("o200k").count(text)


def test_what_is_light_is_counted_and_the_rest_is_not() -> None:
    """Few, short, and nothing but text."""
    few = [Message.of("user", "x" * 100)] * 200
    assert is_light(few, ())
    assert not is_light([Message.of("user", "x")] * 501, ())
    assert not is_light(few, ({"name": "f"},))
    assert not is_light([Message.of("user", "x" * 20_001)], ())
    assert not is_light([Message(role="user", parts=(Image(width=1, height=1),))], ())
