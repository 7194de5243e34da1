"""The tokens of a request, and the budget that is left."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.catalog.media_tokens import split_payloads
from germane.catalog.profiles import Catalog, Profile
from germane.catalog.request_tokens import measure, message_tokens, texts_of, tools_tokens
from germane.models.tokenizers import open_tokenizer
from germane.types.message import Image, Message, Opaque, Part, Text, ToolCall, ToolResult
from support.examples import examples
from support.oracle import oracle

CATALOG = Catalog.built_in()
GPT = CATALOG.find("gpt-4o")
O200K = open_tokenizer("o200k")
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"市": {}}}}}


def cost(*parts: Part, name: str | None = None, profile: Profile = GPT) -> int:
    return message_tokens(Message(role="user", parts=parts, name=name), profile, O200K.count)


@pytest.mark.requirement("BUD-4")
def test_a_conversation_costs_what_the_provider_counts() -> None:
    """Three a message and its role, three a request, the texts."""
    messages = [Message.of("system", "Be brief."), Message.of("user", "Hello there!")]
    count = oracle("o200k")
    budget = measure(messages, (), GPT, O200K, 8000)
    assert budget.messages == 3 + 4 + count("Be brief.") + 4 + count("Hello there!")
    assert (budget.reserve, budget.safety, budget.available) == (4096, 2560, 8000)


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize(
    "part",
    [
        Text("some words"),
        Image(),
        ToolCall(id="call_1", name="weather", arguments='{"city": "Graz"}'),
        ToolResult(call_id="call_1", text="17 degrees"),
        Opaque(kind="thinking", raw={"thinking": "first I look"}),
        Opaque(kind="empty"),
    ],
)
def test_every_kind_of_part_counts(part: Part) -> None:
    """Nothing that is sent is free."""
    assert cost(part) > cost()


@pytest.mark.requirement("BUD-4")
def test_names_tools_and_ids_count() -> None:
    """The longer they are, the more."""
    assert cost(name="Caroline") > cost()
    assert cost(ToolCall(id="x" * 99, name="f")) > cost(ToolCall(id="x", name="f"))
    assert tools_tokens((), GPT, O200K.count) == 0
    assert tools_tokens((TOOL, TOOL), GPT, O200K.count) > tools_tokens((TOOL,), GPT, O200K.count) > 20


@pytest.mark.requirement("BUD-4")
def test_images_are_priced_by_the_models_rule() -> None:
    """The same picture costs each model its own."""
    image = Image(width=1024, height=1024)
    assert cost(image) - cost() == 765
    assert cost(image, profile=CATALOG.find("gemini-1.5-pro")) - cost(profile=CATALOG.find("gemini-1.5-pro")) == 258


@pytest.mark.requirement("BUD-4")
def test_a_payload_is_priced_by_what_it_holds_not_by_its_letters() -> None:
    """A minute of sound is hundreds of tokens, not a hundred thousand; its letters are never counted."""
    sound = {"type": "input_audio", "input_audio": {"data": "QUJD" * 60_000, "format": "mp3"}}
    written, tokens = split_payloads(sound)
    assert "QUJD" not in written
    assert tokens == 1800
    page = {"type": "document", "source": {"data": "data:application/pdf;base64," + "QUJD" * 4000}}
    assert 256 <= split_payloads(page)[1] < 1000


def test_long_prose_is_not_taken_for_a_payload() -> None:
    """What has spaces is text and is counted as text."""
    prose = {"thinking": "we should look at the house " * 100}
    assert split_payloads(prose)[1] == 0
    assert cost(Opaque(kind="thinking", raw=prose)) > 500


def test_parts_that_are_no_json_are_counted_all_the_same() -> None:
    """Bytes, objects and deep nests inside a raw part raise nothing."""
    deep: dict[str, object] = {}
    for _ in range(5000):
        deep = {"in": deep}
    cycle: dict[str, object] = {"word": "round"}
    cycle["again"] = cycle
    for raw in (cycle, {"data": b"\x00" * 5000}, {"x": object()}, {("a", 1): 2}, deep):
        assert cost(Opaque(kind="odd", raw=raw)) > cost()  # type: ignore[arg-type]
        assert tools_tokens((raw,), GPT, O200K.count) > 0  # type: ignore[arg-type]


@pytest.mark.requirement("BUD-3")
@pytest.mark.parametrize(("model", "safety"), [("gpt-4o", 0.02), ("claude-sonnet-4-5", 0.05), ("frobnicate", 0.10)])
def test_safety_follows_how_tokens_are_counted(model: str, safety: float) -> None:
    """2 % exact, 5 % estimated, 10 % unknown."""
    profile = CATALOG.find(model)
    budget = measure((), (), profile, open_tokenizer(profile.tokenizer), 8000)
    assert budget.safety == int(profile.window * safety)


@pytest.mark.requirement("BUD-3")
def test_an_exact_models_safety_widens_when_its_counter_only_estimates() -> None:
    """Where no vocabulary is installed, 5 % at least."""
    assert measure((), (), GPT, open_tokenizer("unknown"), 8000).safety == int(128_000 * 0.05)


@pytest.mark.requirement("BUD-4")
def test_messages_that_alone_exceed_the_window_leave_nothing() -> None:
    """Overfull: nothing is added."""
    budget = measure([Message.of("user", "word " * 10_000)], (), CATALOG.find("gpt-4"), open_tokenizer("cl100k"), 8000)
    assert (budget.exceeds_window, budget.available) == (True, 0)


PARTS = st.one_of(
    st.text(alphabet=st.characters(codec=None), max_size=200).map(Text),
    st.builds(ToolCall, id=st.text(max_size=9), name=st.text(max_size=9), arguments=st.text(max_size=40)),
    st.builds(ToolResult, call_id=st.text(max_size=9), text=st.text(max_size=40)),
    st.builds(Image, width=st.none() | st.integers(-1, 5000), height=st.none() | st.integers(-1, 5000)),
)


@pytest.mark.requirement("BUD-4")
@examples(150)
@given(st.lists(st.lists(PARTS, max_size=3), max_size=5), st.integers(20, 9000), st.integers(0, 9000))
def test_what_is_added_never_passes_the_limit(turns: list[list[Part]], window: int, cap: int) -> None:
    """messages + added ≤ window − reserve − safety, by an independent count of the texts."""
    profile = Profile(name="p", provider="openai", window=window, tokenizer="o200k", safety=0.02, images="fixed:85")
    messages = [Message(role="user", parts=tuple(parts)) for parts in turns]
    budget = measure(messages, [TOOL], profile, O200K, cap)
    count = oracle("o200k")
    spoken = 3 + sum(4 + sum(count(part.text) for part in message.parts if isinstance(part, Text)) for message in messages)
    assert budget.messages >= spoken
    assert budget.available <= cap
    if not budget.exceeds_window and budget.available:
        assert spoken + budget.tools + budget.available + 8 <= window - budget.reserve - budget.safety


def test_every_text_that_is_counted_can_be_counted_ahead() -> None:
    """`texts_of` names what large texts `measure` will ask for."""
    parts = (Text("one"), ToolCall(id="a", name="f", arguments="two"), ToolResult(call_id="a", text="three"), Image())
    message = Message(role="user", parts=(*parts, Opaque(kind="k", raw={"four": "five"})))
    assert list(texts_of([message], [{"six": 7}])) == ["one", "two", "three", '{"four": "five"}', '{"six": 7}']
