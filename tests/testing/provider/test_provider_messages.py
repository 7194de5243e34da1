"""The local provider's Messages API, with Anthropic's own SDK: blocks, threads, bound thinking, diagnostics."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic, BadRequestError, NotFoundError, OverloadedError

from germane_testing.provider import (
    Delivery,
    Failure,
    LocalProvider,
    Refusal,
    Reply,
    Text,
    Thinking,
    ToolCall,
    local_provider,
    provider_in_thread,
)

ASKED: list[Any] = [{"role": "user", "content": "Has my vase been sent? 🦊"}]
TOOLS: list[Any] = [{"name": "order", "input_schema": {"type": "object", "properties": {}}}]
GIVEN: dict[str, Any] = {"model": "claude-fable-5-1", "max_tokens": 100}
BINDING = "thinking-binding-controls-2026-08-01"


@pytest.fixture
async def provider() -> AsyncIterator[LocalProvider]:
    async with local_provider() as provider:
        yield provider


@pytest.fixture
async def client(provider: LocalProvider) -> AsyncIterator[AsyncAnthropic]:
    async with AsyncAnthropic(base_url=provider.url, api_key="none", max_retries=0) as client:
        yield client


async def with_thinking(client: AsyncAnthropic, **options: Any) -> list[Any]:
    """A conversation whose second message thinks and calls a tool."""
    said = await client.messages.create(**GIVEN, messages=ASKED, tools=TOOLS, **options)
    use = said.content[-1]
    assert use.type == "tool_use"
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "on Monday"}
    return [*ASKED, {"role": "assistant", "content": said.content}, {"role": "user", "content": [result]}]


async def test_a_turn_with_a_tool_and_thinking(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """The signed block is taken as it came, dumped by the SDK."""
    messages = await with_thinking(client)
    said = await client.messages.create(**GIVEN, messages=messages, tools=TOOLS)
    assert said.stop_reason == "end_turn"
    assert said.content[0].type == "text"
    assert said.content[0].text == "You said: Has my vase been sent? 🦊"
    assert provider.refused == []


@pytest.mark.parametrize("redacted", [False, True])
async def test_a_stream_adds_up_to_the_same_message(client: AsyncAnthropic, provider: LocalProvider, redacted: bool) -> None:
    """Thinking with its signature, text, and a tool's input in pieces."""
    reply = Reply(
        Thinking("Hm, ünï.", redacted=redacted), "On Monday — sure.", ToolCall("order", {"ä": "ö" * 40}, id="toolu_9")
    )
    provider.script += [reply, reply]
    whole = await client.messages.create(**GIVEN, messages=ASKED, tools=TOOLS)
    async with client.messages.stream(**GIVEN, messages=ASKED, tools=TOOLS) as stream:
        kinds = [event.type async for event in stream]
        streamed = await stream.get_final_message()
    assert [block.to_dict() for block in streamed.content] == [block.to_dict() for block in whole.content]
    assert (streamed.stop_reason, streamed.usage.output_tokens) == ("tool_use", whole.usage.output_tokens)
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"


async def test_a_refusal(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """By the reason to stop."""
    provider.script.append(Reply(Refusal("No.")))
    said = await client.messages.create(**GIVEN, messages=ASKED)
    assert said.stop_reason == "refusal"


CHANGES: dict[str, dict[str, Any]] = {
    "system": {"system": "Be kind. Known: …"},
    "tools": {"tools": [*TOOLS, {"name": "other", "input_schema": {"type": "object"}}]},
    "an earlier message": {"messages": [{"role": "user", "content": "Known: …\n\nHas my vase been sent? 🦊"}]},
}


@pytest.mark.parametrize("change", CHANGES)
async def test_thinking_behind_another_prefix_is_refused_or_dropped(
    client: AsyncAnthropic, provider: LocalProvider, change: str
) -> None:
    """As the request says; what was dropped is told to who sends the beta."""
    system = [{"type": "text", "text": "Be kind."}]
    messages = await with_thinking(client, system=system)
    same: dict[str, Any] = {**GIVEN, "system": system, "tools": TOOLS, "messages": messages}
    changed = {**same, **CHANGES[change]}
    changed["messages"] = [*changed["messages"][:1], *messages[1:]]
    await client.messages.create(**same)
    with pytest.raises(BadRequestError, match="bound to a different conversation"):
        await client.messages.create(**changed)
    drop: Any = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    said = await client.beta.messages.create(**changed, thinking=drop, betas=[BINDING])
    assert said.input_transformations is not None
    assert [(told.type, told.path, told.reason) for told in said.input_transformations] == [
        ("thinking_dropped", "messages.1.content.0", "prefix_binding_mismatch")
    ]
    same["thinking"] = drop
    assert (await client.beta.messages.create(**same, betas=[BINDING])).input_transformations == []
    with pytest.raises(BadRequestError, match="needs the beta"):
        await client.messages.create(**changed, thinking=drop)


async def test_marks_of_the_cache_and_other_spellings_are_the_same_prefix(
    client: AsyncAnthropic, provider: LocalProvider
) -> None:
    """A mark moves on with each turn, a text becomes a block, earlier thinking may go, a cleared system message may come."""
    messages = await with_thinking(client)
    marked = [{"type": "text", "text": ASKED[0]["content"], "cache_control": {"type": "ephemeral"}}]
    cleared: Any = {"role": "system", "content": "Soon.", "clear_at": "next_user_message"}
    messages[0] = {"role": "user", "content": marked}
    await client.messages.create(**GIVEN, messages=messages, tools=TOOLS)
    betas = ["mid-conversation-system-clear-at-2026-08-21"]
    await client.beta.messages.create(**GIVEN, messages=[messages[0], cleared, *messages[1:]], tools=TOOLS, betas=betas)
    assert provider.refused == []


async def test_a_changed_block_of_thinking_is_refused_for_itself(client: AsyncAnthropic) -> None:
    """And so is a signature of somebody else's."""
    messages = await with_thinking(client)
    thinking = messages[1]["content"][0]
    for forged in ({"thinking": "Other.", "signature": thinking.signature}, {"thinking": thinking.thinking, "signature": "s"}):
        content = [{"type": "thinking", **forged}, messages[1]["content"][1]]
        with pytest.raises(BadRequestError, match="Invalid `signature`"):
            await client.messages.create(
                **GIVEN, messages=[messages[0], {"role": "assistant", "content": content}, messages[2]], tools=TOOLS
            )


async def test_a_provider_that_doesnt_enforce_the_binding_reports_it() -> None:
    """The block is shown all the same."""
    async with local_provider(binding="reported") as provider, AsyncAnthropic(base_url=provider.url, api_key="none") as client:
        messages = await with_thinking(client)
        said = await client.beta.messages.create(**GIVEN, messages=messages, tools=TOOLS, system="New.", betas=[BINDING])
        assert said.input_transformations is not None
        assert [told.type for told in said.input_transformations] == ["thinking_mismatch_allowed"]


async def test_more_than_four_marks_are_refused(client: AsyncAnthropic) -> None:
    """Wherever they stand: tools, system, messages, a tool's result, and the one above all."""
    mark = {"cache_control": {"type": "ephemeral"}}
    system: list[Any] = [{"type": "text", "text": "Be kind.", **mark}]
    tools: list[Any] = [{**TOOLS[0], **mark}]
    blocks = [{"type": "text", "text": str(n), **mark} for n in range(2)]
    given: dict[str, Any] = {**GIVEN, "system": system, "tools": tools, "messages": [{"role": "user", "content": blocks}]}
    assert (await client.messages.create(**given)).usage.cache_creation_input_tokens
    with pytest.raises(BadRequestError, match="more than 4 cache_control blocks: 5"):
        await client.messages.create(**given, cache_control={"type": "ephemeral"})


async def test_system_messages_in_the_middle(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """Behind a user's message alone."""
    middle: Any = {"role": "system", "content": "It is Tuesday now."}
    await client.messages.create(**GIVEN, messages=[*ASKED, middle])
    assert provider.refused == []
    with pytest.raises(BadRequestError, match="must be behind a user's"):
        await client.messages.create(**GIVEN, messages=[*ASKED, {"role": "assistant", "content": "Yes."}, middle, *ASKED])


async def test_tokens_are_counted(client: AsyncAnthropic) -> None:
    """Four bytes are a token."""
    short = await client.messages.count_tokens(model="m", messages=ASKED)
    long = await client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x" * 4_000}])
    assert 0 < short.input_tokens < 50
    assert 1_000 < long.input_tokens < 1_020


async def test_a_thread_gets_its_new_turn_alone(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """The SDK's own thread: system and tools once, then what is new; the provider answers from all of it."""
    thread = client.beta.messages.thread(**GIVEN, system="Be kind.", messages=[])
    await thread.send({"role": "user", "content": "I'm Ana."})
    said = await thread.send({"role": "user", "content": "Who am I?"})
    assert said.content[0].type == "text"
    assert said.content[0].text == "You said: Who am I?"
    first, second = provider.bodies
    assert first["thread"] == {"type": "create"}
    assert second["thread"]["type"] == "continue"
    assert len(second["messages"]) == 1
    assert "system" not in second
    assert said.usage.cache_read_input_tokens


async def test_a_lost_thread_is_sent_again_by_the_sdk(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """`thread_not_found` makes it replay the whole conversation under a new one."""
    thread = client.beta.messages.thread(**GIVEN, messages=[])
    await thread.send({"role": "user", "content": "I'm Ana."})
    provider.threads.forget()
    await thread.send({"role": "user", "content": "Who am I?"})
    assert [received.status for received in provider.requests] == [200, 404, 200]
    assert len(provider.bodies[-1]["messages"]) == 3


async def test_what_a_thread_refuses(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """Each with the code that the SDK knows."""
    threads: Any = {"betas": ["message-threads-2026-08-12"]}
    first = await client.beta.messages.create(**GIVEN, messages=ASKED, thread={"type": "create"}, **threads)
    follow: Any = {"type": "continue", "previous_message_id": first.id}
    model = {**GIVEN, "model": "claude-opus-5-5"}
    refusals: list[tuple[dict[str, Any], str]] = [
        ({**model, "thread": follow}, "thread_fingerprint_mismatch"),
        ({**GIVEN, "thread": follow, "cache_control": {"type": "ephemeral"}}, "thread_unsupported_request"),
    ]
    refusals.append(({**GIVEN, "thread": follow}, "thread_already_continued"))
    for given, code in refusals:
        if code == "thread_already_continued":
            await client.beta.messages.create(**GIVEN, messages=ASKED, thread=follow, **threads)
        with pytest.raises(BadRequestError) as raised:
            await client.beta.messages.create(**given, messages=ASKED, **threads)
        assert raised.value.body["error"]["details"]["error_code"] == code  # type: ignore[index]
    lost: Any = {"type": "continue", "previous_message_id": "msg_lost"}
    with pytest.raises(NotFoundError):
        await client.beta.messages.create(**GIVEN, messages=ASKED, thread=lost, **threads)
    with pytest.raises(BadRequestError, match="needs the beta"):
        await client.messages.create(**GIVEN, messages=ASKED, extra_body={"thread": {"type": "create"}})


async def test_a_thread_that_is_being_continued_takes_no_second_turn(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """And a turn whose answer broke off leaves the thread where it was."""
    threads: Any = {"betas": ["message-threads-2026-08-12"]}
    first = await client.beta.messages.create(**GIVEN, messages=ASKED, thread={"type": "create"}, **threads)
    turn: dict[str, Any] = {**GIVEN, **threads, "thread": {"type": "continue", "previous_message_id": first.id}}
    provider.script.append(Reply("cut", delivery=Delivery(ends="stall", after=700)))
    streams = await client.beta.messages.create(**turn, messages=ASKED, stream=True)
    with pytest.raises(BadRequestError) as raised:
        await client.beta.messages.create(**turn, messages=ASKED)
    assert raised.value.body["error"]["details"]["error_code"] == "thread_continue_in_flight"  # type: ignore[index]
    begun = await anext(aiter(streams))
    assert begun.type == "message_start"
    await streams.close()
    await provider.requests[1].ended.wait()
    lost: Any = {"type": "continue", "previous_message_id": begun.message.id}
    with pytest.raises(NotFoundError):
        await client.beta.messages.create(**turn | {"thread": lost}, messages=ASKED)
    assert (await client.beta.messages.create(**turn, messages=ASKED)).content


async def test_why_the_cache_missed(client: AsyncAnthropic) -> None:
    """By the id of the message before; without a change there is no reason."""
    given: dict[str, Any] = {**GIVEN, "system": "Be kind. " * 50, "messages": ASKED}

    async def reason(before: str | None, **changes: Any) -> Any:
        said = await client.beta.messages.create(**given | changes, diagnostics={"previous_message_id": before})
        return said.id, said.diagnostics and said.diagnostics.cache_miss_reason

    first, nothing = await reason(None)
    longer = [*ASKED, {"role": "assistant", "content": "Yes."}, *ASKED]
    assert nothing is None
    assert (await reason(first, messages=longer))[1] is None
    for changes, kind in (
        ({"system": "Other. " * 50}, "system_changed"),
        ({"tools": TOOLS}, "tools_changed"),
        ({"model": "claude-opus-5-5"}, "model_changed"),
        ({"messages": [*longer[2:], {"role": "user", "content": "x"}], "max_tokens": 7}, ""),
        ({"messages": [{"role": "user", "content": "Other."}]}, "messages_changed"),
        ({"tool_choice": {"type": "none"}}, "unavailable"),
    ):
        found = (await reason(first, **changes))[1]
        assert (found.type if found else "") == kind
    assert (await reason("msg_lost"))[1].type == "previous_message_not_found"


def test_a_blocking_client_retries_an_overloaded_provider() -> None:
    """529 with its shape; without retries the SDK raises its own error for it."""
    with provider_in_thread() as provider, Anthropic(base_url=provider.url, api_key="none") as client:
        provider.script += [Failure(529, "Overloaded", headers=(("retry-after-ms", "1"),))] * 2
        assert client.messages.create(**GIVEN, messages=ASKED).content
        provider.script.append(Failure(529, "Overloaded"))
        with pytest.raises(OverloadedError) as raised:
            client.with_options(max_retries=0).messages.create(**GIVEN, messages=ASKED)
        assert raised.value.type == "overloaded_error"
        with client.messages.stream(**GIVEN, messages=ASKED) as stream:
            assert "".join(stream.text_stream).startswith("You said:")


async def test_models_and_parts_of_a_reply(client: AsyncAnthropic, provider: LocalProvider) -> None:
    """Several texts stay apart."""
    provider.script.append(Reply(Text("one"), "two"))
    said = await client.messages.create(**GIVEN, messages=ASKED)
    assert [block.text for block in said.content if block.type == "text"] == ["one", "two"]
    assert [model.id async for model in client.models.list()] == list(provider.models)
