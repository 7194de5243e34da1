"""The local provider's Responses API, with OpenAI's own SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError, OpenAI

from germane_testing.provider import (
    LocalProvider,
    Refusal,
    Reply,
    Thinking,
    ToolCall,
    local_provider,
    provider_in_thread,
)

TOOLS: list[Any] = [{"type": "function", "name": "order", "parameters": {"type": "object", "properties": {}}, "strict": False}]
INCLUDE: Any = ["reasoning.encrypted_content"]


@pytest.fixture
async def provider() -> AsyncIterator[LocalProvider]:
    async with local_provider() as provider:
        yield provider


@pytest.fixture
async def client(provider: LocalProvider) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none", max_retries=0) as client:
        yield client


async def test_a_stateless_conversation_with_reasoning(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """Reasoning comes back encrypted and is taken with its call; nothing is told."""
    items: list[Any] = [{"role": "user", "content": "Has my vase been sent?"}]
    first = await client.responses.create(model="gpt-5.4", input=items, tools=TOOLS, store=False, include=INCLUDE)
    assert [item.type for item in first.output] == ["reasoning", "function_call"]
    call = first.output[1]
    assert call.type == "function_call"
    items += [*first.output, {"type": "function_call_output", "call_id": call.call_id, "output": "on Monday"}]
    second = await client.responses.create(model="gpt-5.4", input=items, tools=TOOLS, store=False, include=INCLUDE)
    assert second.output_text == "You said: Has my vase been sent?"
    assert second.input_transformations is None
    assert provider.refused == []


async def test_reasoning_is_bound_to_what_stands_before_it(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """Behind another prefix it is left out and told; what the provider didn't encrypt is refused."""
    items: list[Any] = [{"role": "user", "content": "Has my vase been sent?"}]
    provider.script.append(Reply(Thinking(), "Yes."))
    first = await client.responses.create(model="m", input=items, store=False, include=INCLUDE)
    changed: list[Any] = [{"role": "user", "content": "Known: …\nHas my vase been sent?"}, *first.output]
    changed.append({"role": "user", "content": "When?"})
    second = await client.responses.create(model="m", input=changed, store=False)
    assert second.input_transformations is not None
    assert [(told.id, told.reason) for told in second.input_transformations] == [(first.output[0].id, "prefix_mismatch")]
    forged = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"}, *changed[2:]]
    forged[1:1] = [{"role": "assistant", "content": "Yes."}]
    with pytest.raises(BadRequestError, match="could not be verified"):
        await client.responses.create(model="m", input=forged, store=False)


async def test_reasoning_that_was_neither_stored_nor_encrypted_is_not_found(
    client: AsyncOpenAI, provider: LocalProvider
) -> None:
    """Without `include` a stateless client has nothing that it can send back."""
    provider.script.append(Reply(Thinking(), "Yes."))
    items: list[Any] = [{"role": "user", "content": "Sent?"}]
    first = await client.responses.create(model="m", input=items, store=False)
    items += [*first.output, *items]
    with pytest.raises(NotFoundError, match="not persisted"):
        await client.responses.create(model="m", input=items, store=False)


EVENTS = (
    *("response.created", "response.in_progress"),
    *("response.output_item.added", "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta"),
    *("response.reasoning_summary_text.done", "response.reasoning_summary_part.done", "response.output_item.done"),
    *("response.output_item.added", "response.content_part.added", "response.output_text.delta", "response.output_text.delta"),
    *("response.output_text.done", "response.content_part.done", "response.output_item.done"),
    *("response.output_item.added", "response.function_call_arguments.delta", "response.function_call_arguments.done"),
    *("response.output_item.done", "response.completed"),
)


async def test_a_stream_has_all_events_in_their_order(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """Numbered without a gap, and the last one holds the whole response."""
    provider.script.append(Reply(Thinking("Hm."), "It leaves on Monday.", ToolCall("order", {})))
    stream = await client.responses.create(model="m", input="When?", tools=TOOLS, stream=True)
    events = [event async for event in stream]
    assert tuple(event.type for event in events) == EVENTS
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last = events[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == "It leaves on Monday."
    done = [event.item for event in events if event.type == "response.output_item.done"]
    assert last.response.output == done


async def test_the_sdks_own_accumulation_agrees(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """A refusal, and a custom tool's call, by `responses.stream`."""
    tools: list[Any] = [{"type": "custom", "name": "shell"}]
    provider.script.append(Reply(Refusal("I won't, not for a hundred vases."), ToolCall("shell", "ls ünï")))
    async with client.responses.stream(model="m", input="When?", tools=tools) as stream:
        final = await stream.get_final_response()
    message, call = final.output
    assert message.type == "message"
    assert message.content[0].type == "refusal"
    assert message.content[0].refusal == "I won't, not for a hundred vases."
    assert call.type == "custom_tool_call"
    assert call.input == "ls ünï"


async def test_a_cut_answer_is_incomplete(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """With its reason, whole and streamed."""
    provider.script += [Reply("half", stop="length"), Reply("half", stop="length")]
    whole = await client.responses.create(model="m", input="When?")
    assert (whole.status, whole.incomplete_details and whole.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    events = [event async for event in await client.responses.create(model="m", input="When?", stream=True)]
    assert events[-1].type == "response.incomplete"


async def test_stored_responses_are_continued_read_and_deleted(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """A call that the provider holds is answered by its output alone. What was forgotten is not found."""
    first = await client.responses.create(model="m", input="Has my vase been sent?", tools=TOOLS)
    call = next(item for item in first.output if item.type == "function_call")
    output: Any = [{"type": "function_call_output", "call_id": call.call_id, "output": "on Monday"}]
    second = await client.responses.create(model="m", input=output, previous_response_id=first.id, tools=TOOLS)
    assert second.output_text == "You said: Has my vase been sent?"
    assert second.previous_response_id == first.id
    assert (await client.responses.retrieve(second.id)).output_text == second.output_text
    inputs = [item.type async for item in await client.responses.input_items.list(second.id)]
    assert inputs == ["function_call_output", "function_call", "reasoning", "message"]
    await client.responses.delete(first.id)
    with pytest.raises(NotFoundError):
        await client.responses.retrieve(first.id)
    with pytest.raises(BadRequestError) as raised:
        await client.responses.create(model="m", input="And?", previous_response_id=first.id)
    assert raised.value.code == "previous_response_not_found"
    provider.stored.forget()
    with pytest.raises(NotFoundError):
        await client.responses.retrieve(second.id)


async def test_a_response_that_isnt_stored_cant_be_continued(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="m", input="Hello", store=False)
    with pytest.raises(BadRequestError, match="not found"):
        await client.responses.create(model="m", input="And?", previous_response_id=first.id)


async def test_a_conversation_holds_its_items(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """Each response adds its input and its output."""
    conversation = await client.conversations.create(items=[{"role": "user", "content": "I'm Ana."}])
    await client.responses.create(model="m", input="Who am I?", conversation=conversation.id)
    again = await client.responses.create(model="m", input="Sure?", conversation=conversation.id)
    assert again.conversation is not None
    assert again.conversation.id == conversation.id
    items = [item async for item in await client.conversations.items.list(conversation.id, order="asc")]
    assert len(items) == 5
    assert provider.bodies[-1]["input"] == "Sure?"
    await client.conversations.delete(conversation.id)
    with pytest.raises(NotFoundError):
        await client.responses.create(model="m", input="And now?", conversation=conversation.id)


async def test_a_background_response_is_polled_cancelled_and_streamed_again(client: AsyncOpenAI) -> None:
    """Each read brings it one stage on; its events are there from any number."""
    begun = await client.responses.create(model="m", input="Take your time.", background=True)
    stages = [begun.status] + [(await client.responses.retrieve(begun.id)).status for _ in range(3)]
    assert stages == ["queued", "queued", "in_progress", "completed"]
    assert (await client.responses.retrieve(begun.id)).output_text == "You said: Take your time."
    events = [event async for event in await client.responses.retrieve(begun.id, stream=True, starting_after=2)]
    assert events[0].sequence_number == 3
    assert events[-1].type == "response.completed"
    other = await client.responses.create(model="m", input="Never mind.", background=True)
    assert (await client.responses.cancel(other.id)).status == "cancelled"


async def test_a_call_without_its_output_is_refused(client: AsyncOpenAI, provider: LocalProvider) -> None:
    """And an option that nobody knows."""
    call: Any = {"type": "function_call", "call_id": "c1", "name": "order", "arguments": "{}"}
    with pytest.raises(BadRequestError, match="no tool output found for c1"):
        await client.responses.create(model="m", input=[call])
    with pytest.raises(BadRequestError, match="unknown field colour"):
        await client.responses.create(model="m", input="x", extra_body={"colour": "blue"})
    assert len(provider.refused) == 2


def test_a_blocking_client() -> None:
    """In a thread, for code that doesn't await; the SDK's stream helper, too."""
    with provider_in_thread() as provider, OpenAI(base_url=f"{provider.url}/v1", api_key="none") as client:
        with client.responses.stream(model="m", input="When?") as stream:
            said = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        assert said == "You said: When?"
