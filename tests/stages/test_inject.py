"""Germane's text in the caller's messages."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from germane.dialects.registry import dialect, parse_all
from germane.errors import UnknownName
from germane.stages.inject import Injected, inject
from germane.types.message import Message
from germane.types.strategy import Placement
from support.examples import examples
from support.exchanges import CLAUDE, EXCHANGE, GEMINI, ITEMS, request

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")


def valid(injected: Injected, provider: str) -> bool:
    return dialect(provider).problems(injected.convert(provider)) == ()


def same(out: list[Any], raw: list[Any]) -> bool:
    return len(out) == len(raw) and all(one is other for one, other in zip(out, raw, strict=True))


@pytest.mark.requirement("INJECT-1", "INJECT-2a")
def test_the_system_message_is_first_and_the_callers_own_follow_untouched() -> None:
    """The very same objects, in order, the caller's system message among them."""
    raw = [{"role": "system", "content": "be nice"}, *EXCHANGE, {"role": "user", "content": "ok", "name": "Ann"}]
    injected = inject(request(raw), "memories")
    assert injected.messages[0] == {"role": "system", "content": "memories"}
    assert injected.system == injected.added == "memories"
    assert same(injected.messages[1:], raw)


@pytest.mark.requirement("INJECT-1", "INJECT-2a")
@pytest.mark.parametrize(("provider", "raw"), [("anthropic", CLAUDE), ("gemini", GEMINI)])
def test_where_the_system_stands_apart_messages_are_the_callers_alone(provider: str, raw: list[Any]) -> None:
    """The same objects; germane's text in `system`, no system role."""
    injected = inject(request(raw, provider), "memories")
    assert injected.system == "memories"
    assert same(injected.messages, raw)
    assert valid(injected, provider)


@pytest.mark.requirement("INJECT-1")
@pytest.mark.parametrize(
    ("provider", "raw"), [("openai", EXCHANGE), ("openai-responses", ITEMS), ("anthropic", CLAUDE), ("gemini", GEMINI)]
)
@pytest.mark.parametrize("placement", ["first", "split"])
def test_nothing_to_inject_gives_the_messages_back(provider: str, raw: list[Any], placement: Placement) -> None:
    """Identical, and no empty system message."""
    injected = inject(request(raw, provider), "", "", placement=placement)
    assert same(injected.messages, raw)
    assert (injected.system, injected.added) == (None, "")


@pytest.mark.requirement("INJECT-1")
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_germanes_own_keys_stay_behind(provider: str) -> None:
    """A provider refuses `id` and `created_at`; only the dicts that have them are copied, and those only for them."""
    raw = [{"role": "user", "content": "hi", "id": "1", "name": "Ann Lee", "created_at": 1}, {"role": "user", "content": "ho"}]
    before = copy.deepcopy(raw)
    injected = inject(request(raw, provider), "memories")
    name = {"name": "Ann_Lee"} if provider == "openai" else {}
    assert injected.messages[-2:] == [{"role": "user", "content": "hi", **name}, {"role": "user", "content": "ho"}]
    assert injected.messages[-1] is raw[1]
    assert raw == before


@pytest.mark.requirement("INJECT-2a")
@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
def test_the_callers_own_system_comes_after_germanes(provider: str) -> None:
    """Wherever in the conversation it stood."""
    raw = [
        {"role": "system", "content": "be nice"},
        {"role": "user", "content": "hi"},
        {"role": "system", "content": "be brief"},
    ]
    injected = inject(request(raw, provider), "memories")
    assert injected.system == "memories\n\nbe nice\n\nbe brief"
    assert [message["role"] for message in injected.convert(provider).messages] == ["user"]


@pytest.mark.requirement("INJECT-2a")
def test_system_content_in_blocks_stays_in_blocks() -> None:
    """All of germane's text stands behind a caller's own mark of the prompt cache: it differs from session to session."""
    block = {"type": "text", "text": "be nice", "cache_control": {"type": "ephemeral"}}
    injected = inject(request([{"role": "system", "content": [block]}, CLAUDE[0]], "anthropic"), "memories")
    assert injected.system == [block, {"type": "text", "text": "memories"}]
    raw = [{"role": "system", "content": [block]}, CLAUDE[0]]
    marked = {"type": "text", "text": "stable", "cache_control": {"type": "ephemeral"}}
    assert inject(request(raw, "anthropic"), "stable", "late", placement="split").system == [block, marked]
    parts = [{"text": "be nice"}]
    injected = inject(request([{"role": "system", "parts": parts}, GEMINI[0]], "gemini"), "memories")
    assert injected.system == [{"text": "memories"}, *parts]


MARKED = {"type": "text", "text": "be nice", "cache_control": {"type": "ephemeral"}}


@pytest.mark.requirement("INJECT-7")
def test_changing_text_stands_behind_the_callers_cached_blocks() -> None:
    """With `first` all of it; a system prompt without marks stands behind germane's."""
    system = [MARKED, {"type": "text", "text": "be brief"}]
    raw = [{"role": "system", "content": system}, {"role": "assistant", "content": "hello"}]
    assert inject(request(raw, "anthropic"), "stable", "late").system == [*system, {"type": "text", "text": "stable\n\nlate"}]
    raw = [{"role": "system", "content": [system[1]]}, CLAUDE[0]]
    assert inject(request(raw, "anthropic"), "memories").system == [{"type": "text", "text": "memories"}, system[1]]


@pytest.mark.requirement("INJECT-7")
def test_system_messages_in_the_middle_stay_where_the_model_takes_them() -> None:
    """Before the assistant's turn or at the end, as the same objects; those at the start go to the system prompt."""
    first, middle, last = ({"role": "system", "content": text} for text in ("first", "middle", "last"))
    answer = {"role": "assistant", "content": "hello"}
    raw = [first, CLAUDE[0], middle, answer, {"role": "user", "content": "hi"}, last]
    given = replace(request(raw, "anthropic"), mid_system=True)
    injected = inject(given, "stable", "late", placement="split")
    assert injected.messages[:4] == [
        CLAUDE[0],
        middle,
        answer,
        {"role": "user", "content": [{"type": "text", "text": "late"}, {"type": "text", "text": "hi"}]},
    ]
    assert injected.messages[1] is middle
    assert injected.messages[4] is last
    assert valid(injected, "anthropic")
    assert "first" in str(injected.system)
    assert "middle" not in str(injected.system)


@pytest.mark.requirement("INJECT-7")
def test_a_system_message_the_api_would_refuse_there_is_moved_as_little_as_can_be() -> None:
    """Behind the user's words and results that follow; several in a row become one; with nothing to follow, to the system."""
    one, two = ({"role": "system", "content": text} for text in ("one", "two"))
    raw = [CLAUDE[0], CLAUDE[1], one, two, CLAUDE[2]]
    injected = inject(replace(request(raw, "anthropic"), mid_system=True), "")
    joined = {"role": "system", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
    assert injected.messages == [*CLAUDE, joined]
    assert valid(injected, "anthropic")
    raw = [CLAUDE[0], {"role": "assistant", "content": "hello"}, one]
    injected = inject(replace(request(raw, "anthropic"), mid_system=True), "")
    assert (injected.messages, injected.system) == (raw[:2], "one")
    assert inject(replace(request(raw, "openai"), mid_system=True), "").messages == raw
    assert "one" in str(inject(replace(request(raw, "gemini"), mid_system=True), "").system)


@pytest.mark.requirement("INJECT-2")
def test_split_puts_late_text_before_the_last_human_message() -> None:
    """Not between a call and its result: what the tool said stays right behind its call."""
    injected = inject(request(EXCHANGE), "stable", "late", placement="split")
    late = {"role": "user", "content": "late"}
    assert injected.messages == [{"role": "system", "content": "stable"}, late, *EXCHANGE]
    assert injected.added == "stable\n\nlate"
    assert injected.system == "stable"
    more = [*EXCHANGE, {"role": "user", "content": "ok"}]
    assert inject(request(more), "stable", "late", placement="split").messages[1:] == [*EXCHANGE, late, more[-1]]


@pytest.mark.requirement("INJECT-2")
def test_split_gives_anthropic_a_part_of_its_own_behind_the_results() -> None:
    """The caller's parts are the same objects; its dicts are as they were; the earlier ones go out untouched."""
    before = copy.deepcopy(CLAUDE)
    injected = inject(request(CLAUDE, "anthropic"), "stable", "late", placement="split")
    last = injected.convert("anthropic").messages[-1]
    assert last["content"] == [CLAUDE[2]["content"][0], {"type": "text", "text": "late"}, CLAUDE[2]["content"][1]]
    assert last["content"][2] is CLAUDE[2]["content"][1]
    assert same(injected.messages[:2], CLAUDE[:2])
    assert before == CLAUDE
    assert injected.system == [{"type": "text", "text": "stable", "cache_control": {"type": "ephemeral"}}]
    assert valid(injected, "anthropic")


@pytest.mark.requirement("INJECT-2")
def test_split_gives_gemini_a_part_of_its_own() -> None:
    """Before the last thing the human said."""
    injected = inject(request(GEMINI, "gemini"), "stable", "late", placement="split")
    assert injected.messages[-1] == {"role": "user", "parts": [{"text": "late"}, {"text": "and now?"}]}
    assert same(injected.messages[:-1], GEMINI[:-1])
    assert injected.system == "stable"


@pytest.mark.requirement("INJECT-9")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("placement", ["split", "append"])
@pytest.mark.parametrize("said", [[], [{"role": "user", "content": "hi"}]])
def test_the_late_text_never_has_the_operators_role(provider: str, placement: Placement, said: list[dict[str, str]]) -> None:
    """Also where no human has said anything, and between the turns of a model that takes system messages there."""
    raw = [{"role": "system", "content": "own"}, {"role": "assistant", "content": "hello"}, *said]
    earlier = {2: "before"} if said and placement == "append" else {}
    given = replace(request(raw, provider), mid_system=True)
    for to in PROVIDERS:
        injected = inject(given, "stable", "late", placement=placement, earlier=earlier).convert(to)
        spoken = [message for message in injected.messages if message.get("role") in ("system", "developer")]
        assert "late" not in f"{injected.system} {spoken}"
        assert "before" not in f"{injected.system} {spoken}"
        assert "late" in str([message for message in injected.messages if message.get("role") == "user"])
        assert "stable" in f"{injected.system} {spoken}"
        assert dialect(to).problems(injected) == ()


@pytest.mark.requirement("INJECT-2")
def test_the_prompt_cache_is_marked_only_where_there_is_room() -> None:
    """Four marks a request, the caller's on tools and blocks counted; none with placement `first`."""
    mark = {"cache_control": {"type": "ephemeral"}}
    said = [{"role": "user", "content": [{"type": "text", "text": str(n), **mark} for n in range(3)]}]
    room = inject(request(said, "anthropic"), "stable", "late", placement="split")
    full = inject(request(said, "anthropic", tools=({"name": "f", **mark},)), "stable", "late", placement="split")
    assert room.system == [{"type": "text", "text": "stable", **mark}]
    assert full.system == "stable"
    assert valid(room, "anthropic")
    assert inject(request(said, "anthropic"), "stable", "late").system == "stable\n\nlate"


@pytest.mark.requirement("INJECT-2")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_stable_part_is_the_same_bytes_whatever_is_late(provider: str) -> None:
    """What the prompt cache keeps changes only with its own content."""
    one, other = (inject(request(EXCHANGE, provider), "stable", late, placement="split") for late in ("late", "later"))
    assert one.system == other.system


@pytest.mark.requirement("INJECT-2a")
@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    "raw",
    [EXCHANGE, ITEMS, CLAUDE, GEMINI, list(parse_all(EXCHANGE))],
    ids=["openai", "responses", "anthropic", "gemini", "messages"],
)
def test_any_shape_comes_out_in_the_providers(raw: list[Any], provider: str) -> None:
    """Also by converting afterwards."""
    injected = inject(request(raw, "openai"), "memories")
    wire = injected.convert(provider)
    assert dialect(provider).problems(wire) == ()
    assert "memories" in str(wire)
    assert "42" in str(wire.messages)
    assert inject(request(raw, provider), "memories").messages == wire.messages


def test_converting_for_an_unknown_provider_is_refused() -> None:
    """With the known ones named."""
    with pytest.raises(UnknownName, match="openai, anthropic, gemini"):
        inject(request(EXCHANGE), "memories").convert("acme")


@pytest.mark.requirement("INJECT-4")
def test_orphans_of_a_cut_history_are_closed_as_text_and_the_rest_is_untouched() -> None:
    """A result whose call was cut, a call whose result never came."""
    raw = [EXCHANGE[2], {"role": "user", "content": "hi"}, EXCHANGE[1]]
    injected = inject(request(raw), "memories")
    assert injected.messages[1:] == [
        {"role": "user", "content": "[Tool result: 42]"},
        raw[1],
        {"role": "assistant", "content": "[Tool call without a result: f({})]"},
    ]
    assert injected.messages[2] is raw[1]
    assert valid(injected, "openai")


@pytest.mark.requirement("INJECT-4")
def test_gemini_starts_with_a_user_turn_and_has_no_empty_ones() -> None:
    """`[Conversation start]` stands before a model's turn."""
    raw = [
        {"role": "model", "parts": [{"text": "hello"}]},
        {"role": "user", "parts": []},
        {"role": "user", "parts": [{"text": ""}]},
    ]
    injected = inject(request(raw, "gemini"), "memories")
    assert injected.messages == [{"role": "user", "parts": [{"text": "[Conversation start]"}]}, raw[0]]
    assert inject(request([], "gemini"), "m").messages == [{"role": "user", "parts": [{"text": "[Conversation start]"}]}]


@pytest.mark.requirement("INJECT-4")
def test_the_callers_own_results_in_several_turns_are_made_one() -> None:
    """Anthropic wants all results of an exchange in the next turn; the blocks are the caller's."""
    use = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in "ab"]
    results = [{"type": "tool_result", "tool_use_id": id, "content": id} for id in "ab"]
    raw = [CLAUDE[0], {"role": "assistant", "content": use}, *({"role": "user", "content": [each]} for each in results)]
    injected = inject(request(raw, "anthropic"), "memories")
    assert injected.messages == [*raw[:2], {"role": "user", "content": results}]
    assert valid(injected, "anthropic")


@pytest.mark.requirement("INJECT-4")
def test_results_behind_other_blocks_are_put_before_them() -> None:
    """Where the caller's turn has them the other way round."""
    first, second = CLAUDE[2]["content"]
    injected = inject(request([*CLAUDE[:2], {"role": "user", "content": [second, first]}], "anthropic"), "memories")
    assert injected.messages == CLAUDE
    assert valid(injected, "anthropic")


@pytest.mark.requirement("INJECT-2")
def test_late_text_stands_behind_geminis_responses() -> None:
    """In a turn that answers a call and asks something more."""
    answer = GEMINI[2]["parts"][0]
    raw = [*GEMINI[:2], {"role": "user", "parts": [answer, {"text": "and?"}]}]
    injected = inject(request(raw, "gemini"), "stable", "late", placement="split")
    assert injected.messages[-1] == {"role": "user", "parts": [answer, {"text": "late"}, {"text": "and?"}]}
    assert valid(injected, "gemini")


plain = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": st.text(min_size=1, max_size=9)}
)


@pytest.mark.requirement("INJECT-1", "INJECT-4")
@examples(100, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(plain, min_size=1, max_size=8),
    st.sampled_from(PROVIDERS),
    st.sampled_from(["first", "split"]),
    st.sampled_from(["", "S"]),
    st.sampled_from(["", "L"]),
)
def test_every_plain_conversation_goes_out_whole_and_valid(
    raw: list[Any], provider: str, placement: Placement, stable: str, late: str
) -> None:
    """For OpenAI every dict is the caller's own but germane's messages; nothing is ever changed in place."""
    before = copy.deepcopy(raw)
    injected = inject(request(raw, provider), stable, late, placement=placement)
    assert valid(injected, provider)
    assert raw == before
    if provider == "openai":
        own = [message for message in injected.messages if any(message is each for each in raw)]
        assert own == raw
        alone = {"first": bool(stable or late)}.get(placement, bool(stable) + bool(late))
        assert len(injected.messages) - len(own) == alone


def test_message_values_are_written_for_the_provider() -> None:
    """Nothing to inject or not: what comes back can be sent."""
    assert inject(request([Message.of("user", "hi", id="1")]), "").messages == [{"role": "user", "content": "hi"}]
