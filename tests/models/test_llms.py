"""The contract of language models, for both protocols, against a server that speaks them and misbehaves."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from germane.errors import InvalidInput, LLMError, UnknownName
from germane.models.llm_endpoints import AnthropicMessages, ChatCompletions
from germane.models.llms import FunctionLLM, open_llm
from germane.ports.models import LLM, Completion
from germane_testing.provider import (
    DROP,
    Asked,
    Delivery,
    Failure,
    LocalProvider,
    Refusal,
    Reply,
    Usage,
    Verbatim,
    answers,
    local_provider,
)
from germane_testing.provider.replies import Step

KEY, SAID = "sk-very-secret", "my sister lives in Oslo"
PAID: dict[str, Any] = {"usage": Usage(input=100, cached=10, output=20), "model": "m-2024"}
SCHEMA = {"type": "object", "additionalProperties": False, "required": [], "properties": {}}


@pytest.fixture
async def server() -> AsyncIterator[LocalProvider]:
    async with local_provider(rule=answers('{"memories": []}', **PAID)) as server:
        yield server


class Sleeps(list[float]):
    """In place of `asyncio.sleep`: the seconds of each."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def slept() -> Sleeps:
    return Sleeps()


def status(code: int, **headers: str) -> Step:
    """An error that quotes what it was sent, as some do."""

    def step(asked: Asked) -> Failure:
        return Failure(code, json.dumps(asked.body), headers=tuple(headers.items()))

    return step


def _llm(provider: str, server: LocalProvider, **options: Any) -> LLM:
    options = {"sleep": Sleeps(), "jitter": lambda: 0.5, **options}
    if provider == "openai":
        return ChatCompletions(f"{server.url}/v1", "m", KEY, **options)
    return AnthropicMessages(server.url, "m", KEY, **options)


@pytest.fixture(params=["openai", "anthropic"])
async def llm(request: pytest.FixtureRequest, server: LocalProvider, slept: Sleeps) -> AsyncIterator[LLM]:
    llm = _llm(request.param, server, sleep=slept)
    yield llm
    await llm.close()


async def _asked(llm: LLM, **options: Any) -> Completion:
    return await llm.complete("Be brief.", SAID, max_tokens=64, **options)


async def test_an_answer_comes_with_its_model_and_tokens(llm: LLM, server: LocalProvider) -> None:
    """A completion says what it cost, cached input included."""
    server.rule = answers("Hello", **PAID)
    assert await _asked(llm) == Completion(text="Hello", input_tokens=100, output_tokens=20, model="m-2024")


async def test_with_a_schema_the_answer_is_json(llm: LLM, server: LocalProvider) -> None:
    """The endpoint is asked for the schema in its own way: a response format, or a tool that must be called."""
    server.rule = answers('{"a": "é"}')
    completion = await _asked(llm, schema=SCHEMA)
    assert json.loads(completion.text) == {"a": "é"}
    (asked,) = server.bodies
    if llm.name.startswith("openai"):
        assert asked["response_format"]["json_schema"] == {"name": "answer", "strict": True, "schema": SCHEMA}
    else:
        assert (asked["tools"][0]["input_schema"], asked["tool_choice"]["type"]) == (SCHEMA, "tool")


async def test_the_key_goes_into_the_providers_own_header(llm: LLM, server: LocalProvider) -> None:
    """OpenAI's protocol takes a bearer token, Anthropic's `x-api-key` and a version."""
    await _asked(llm)
    (received,) = server.requests
    if llm.name.startswith("openai"):
        assert received.header("authorization") == f"Bearer {KEY}"
    else:
        assert (received.header("x-api-key"), received.header("anthropic-version")) == (KEY, "2023-06-01")


@pytest.mark.parametrize("code", [429, 500, 503, 529])
async def test_a_busy_endpoint_is_asked_again(llm: LLM, server: LocalProvider, slept: Sleeps, code: int) -> None:
    """Retries wait as long as the endpoint asks for, else exponentially."""
    server.script = [status(code, **{"Retry-After": "7"}), status(code)]
    assert (await _asked(llm)).output_tokens == 20
    assert slept == [7.0, 1.0]


async def test_a_dropped_connection_is_retried_and_then_an_error_of_the_endpoint(llm: LLM, server: LocalProvider) -> None:
    """Without an answer nothing is known about this request: any other would fail too."""
    server.script = [DROP] * 3
    with pytest.raises(LLMError, match="didn't answer: ServerDisconnectedError 3 times") as raised:
        await _asked(llm)
    assert raised.value.of_endpoint


@pytest.mark.parametrize(
    ("code", "of_endpoint"), [(401, True), (403, True), (404, True), (400, False), (413, False), (500, False)]
)
async def test_an_error_says_whether_any_request_would_fail(
    llm: LLM, server: LocalProvider, code: int, of_endpoint: bool
) -> None:
    """A wrong key concerns the endpoint, a refused request or a fault of the server's this request alone."""
    server.script = [status(code)] * 3
    with pytest.raises(LLMError, match=f"answered {code}") as raised:
        await _asked(llm)
    assert (raised.value.of_endpoint, raised.value.status) == (of_endpoint, code)


@pytest.mark.parametrize(
    "reply",
    [
        status(401),
        status(500),
        Verbatim(""),
        Verbatim("garbage"),
        Verbatim("[1]"),
        Verbatim("{}"),
        Reply("x", changes={"choices": [], "content": []}),
        Reply("x", changes={"choices": [7], "content": [7]}),
        Reply("x", changes={"choices": [{"message": {"content": None}}], "content": [{"type": "text"}]}),
        Reply("x", changes={"choices": "x", "content": "x"}),
        Verbatim("[" * 100_000),
        Verbatim("x" * 200_000),
        Reply("x", delivery=Delivery(ends="cut", after=17)),
        DROP,
    ],
)
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
async def test_whatever_comes_is_an_llm_error_without_content_or_key(server: LocalProvider, provider: str, reply: Any) -> None:
    """An endpoint that answers garbage, half an answer, or what it was sent raises one kind of error, which quotes nothing."""
    llm = _llm(provider, server, retries=0)
    server.script = [reply]
    with pytest.raises(LLMError) as raised:
        await _asked(llm)
    await llm.close()
    assert not any(secret in f"{raised.value!r} {llm!r}" for secret in (KEY, SAID, "Oslo", "garbage"))


@pytest.mark.parametrize(
    ("provider", "reply", "reason"),
    [
        ("openai", Reply("half", stop="length", **PAID), "cut off"),
        ("openai", Reply("", stop="filter", **PAID), "refused"),
        ("openai", Reply(Refusal("no"), **PAID), "refused"),
        ("anthropic", Reply("half", stop="length", **PAID), "cut off"),
        ("anthropic", Reply(Refusal("no"), **PAID), "refused"),
    ],
)
async def test_an_answer_that_is_cut_off_or_refused_is_an_error_that_tells_its_cost(
    server: LocalProvider, provider: str, reply: Reply, reason: str
) -> None:
    """Half of a JSON document is useless, but it was paid for."""
    llm = _llm(provider, server)
    server.script = [reply]
    with pytest.raises(LLMError, match=reason) as raised:
        await _asked(llm)
    await llm.close()
    assert raised.value.spent == (100, 20)


async def test_a_server_without_schemas_is_asked_without(server: LocalProvider) -> None:
    """Compatible servers may refuse `response_format`; the second request leaves it out, and so do later ones."""
    llm = _llm("openai", server)
    server.script = [status(400)]
    assert (await _asked(llm, schema=SCHEMA)).text
    assert (await _asked(llm, schema=SCHEMA)).text
    await llm.close()
    assert ["response_format" in asked for asked in server.bodies] == [True, False, False]


async def test_a_slow_endpoint_times_out(server: LocalProvider) -> None:
    """The time-out holds for each attempt."""
    llm = _llm("openai", server, timeout=0.0001, retries=1)
    with pytest.raises(LLMError, match=r"didn't answer: .* 2 times") as raised:
        await _asked(llm)
    await llm.close()
    assert raised.value.of_endpoint


async def test_counts_that_are_no_counts_are_nothing(server: LocalProvider) -> None:
    """A count that is negative, huge, or no number doesn't reach the budget."""
    llm = _llm("openai", server)
    server.script = [Reply("x", changes={"usage": {"prompt_tokens": -5, "completion_tokens": True}})]
    completion = await _asked(llm)
    await llm.close()
    assert (completion.input_tokens, completion.output_tokens) == (0, 0)


async def test_a_closed_llm_raises(llm: LLM) -> None:
    """Closing is idempotent; later requests raise."""
    await llm.close()
    await llm.close()
    with pytest.raises(LLMError, match="is closed"):
        await _asked(llm)


async def test_a_function_is_a_language_model() -> None:
    """The function gets instructions and prompt as one text; tokens are estimated."""

    async def shout(prompt: str) -> str:
        return prompt.upper()

    llm = FunctionLLM(shout)
    completion = await _asked(llm)
    assert completion.text == f"BE BRIEF.\n\n{SAID.upper()}"
    assert completion.input_tokens == completion.output_tokens == 9


async def test_a_function_that_raises_or_returns_no_text_is_an_llm_error() -> None:
    """The error names the type alone."""

    async def broken(prompt: str) -> str:
        raise ValueError(prompt)

    async def wrong(prompt: str) -> Any:
        return [prompt]

    for function, said in ((broken, "raised ValueError"), (wrong, "returned list")):
        with pytest.raises(LLMError, match=said) as raised:
            await _asked(FunctionLLM(function))
        assert SAID not in str(raised.value)


def test_names_find_their_address_and_key() -> None:
    """The variables are those of the providers' own libraries; an address in the name gets no key of another host."""
    access = {"OPENAI_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://proxy:1", "OPENAI_BASE_URL": "http://local:2/v1"}
    assert repr(open_llm("openai:gpt-4o-mini", access)) == "<ChatCompletions gpt-4o-mini at local>"
    assert repr(open_llm("anthropic:claude-haiku-4-5", access)) == "<AnthropicMessages claude-haiku-4-5 at proxy>"
    assert repr(open_llm("http://here:3/v1#llama3.2", access)) == "<ChatCompletions llama3.2 at here>"


def test_names_that_cant_be_used_say_what_to_do() -> None:
    """An unknown provider, a missing model, and a base address that is none raise `InvalidInput`."""
    with pytest.raises(UnknownName, match="take 'openai:<model>'"):
        open_llm("gpt-4o", {})
    with pytest.raises(InvalidInput, match="names no model"):
        open_llm("openai:", {})
    with pytest.raises(InvalidInput, match="must be an http or https address"):
        open_llm("anthropic:m", {"ANTHROPIC_BASE_URL": "proxy"})
    with pytest.raises(InvalidInput, match="must be printable ASCII"):
        open_llm("openai:m", {"OPENAI_API_KEY": "a\nb"})


async def test_an_address_in_the_name_gets_no_key_of_another_host(server: LocalProvider) -> None:
    """The key belongs to the host that OPENAI_BASE_URL names."""
    for access, sent in (
        ({"OPENAI_API_KEY": KEY}, None),
        ({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{server.url}/v1/"}, KEY),
    ):
        llm = open_llm(f"{server.url}/v1#m", access)
        await _asked(llm)
        await llm.close()
        assert server.requests[-1].header("Authorization") == (sent and f"Bearer {sent}")
