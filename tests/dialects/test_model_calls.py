"""Model calls: what is read of a request, and that a context adds texts to its body and changes nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.dialects.model_calls import ChangedBody, ModelCall, read_call
from germane.dialects.registry import parse_all, system_prompt
from germane.stages.inject import inject
from germane.types.context import BINDING_CONTROLS, Context
from germane.types.message import Wire, is_human
from germane.types.reports import Metadata
from germane.types.request import Request
from germane.types.scope import Scope
from germane.types.strategy import Placement
from germane.types.trace import EarlierInjection, Trace
from germane_testing.provider.anthropic_rules import anthropic_refuses
from germane_testing.provider.openai_rules import chat_refuses, responses_refuses
from support.examples import examples
from support.provider_requests import made_request
from support.spellings import Speller

pytestmark = pytest.mark.requirement("PROXY-1")

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
PATHS = {"openai": CHAT, "openai-responses": RESPONSES, "anthropic": MESSAGES}
REFUSES: Mapping[str, Callable[[Any], Iterator[str]]] = {
    "openai": chat_refuses,
    "openai-responses": responses_refuses,
    "anthropic": anthropic_refuses,
}
STABLE = '<directive nonce="qhzvkdtwmbxr">\nBe kind.\n</directive>'
LATE = '<memory nonce="qhzvkdtwmbxr">\nBiscuit eats leaves.\n</memory>'
EARLIER = '<memory nonce="qhzvkdtwmbxr">\nBiscuit is a greyhound, {}.\n</memory>'
ASKS = "What does Biscuit eat?"
PNG = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAYAAACddGYaAAAAAElFTkSuQmCC"


def context_for(
    call: ModelCall,
    *,
    stable: str = STABLE,
    late: str = LATE,
    placement: Placement = "append",
    mid_system: bool = False,
    changed: bool = False,
) -> Context:
    """What an engine answers, with a text of an earlier call at each human turn but the last."""
    own = system_prompt(call.asking["system"], call.api)
    raw = (*([own] if own else []), *call.messages)
    messages = parse_all(raw, call.api)
    turns = [at for at, message in enumerate(messages) if is_human(message)][:-1] if placement == "append" else []
    earlier = {at: EARLIER.format(at) for at in turns}
    request = Request(
        scope=Scope(user="caroline"),
        messages=messages,
        raw=raw,
        model="any",
        provider=call.api,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        tools=tuple(call.tools or ()),
        has_system=own is not None,
        mid_system=mid_system,
    )
    injected = inject(request, stable, late, placement=placement, earlier=earlier)
    return Context(
        provider=call.api,
        messages=injected.messages,
        system=injected.system,
        added=injected.added,
        items=(),
        metadata=Metadata(thinking_prefix_changed=changed),
        trace=Trace(strategy="default", model="any", tokenizer="estimate"),
        convert=injected.convert,
        convert_turns=injected.convert_turns,
        stable="\n\n".join(filter(None, (stable, late))) if placement == "first" else stable,
        earlier=tuple(EarlierInjection(turn=at, text=text, tokens=1) for at, text in earlier.items()),
    )


def read(path: str, **fields: Any) -> ModelCall:
    """The call of a body in JSON."""
    call = read_call(path, json.dumps({"model": "any", **fields}).encode())
    assert call is not None
    return call


def changed_body(call: ModelCall, **options: Any) -> ChangedBody:
    body = call.body_with(context_for(call, **options))
    assert body is not None
    return body


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def is_added(one: object) -> bool:
    return isinstance(one, Mapping) and 'nonce="qhzvkdtwmbxr"' in str(one.get("text", one.get("content")))


def without_added(body: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The body without germane's texts, in the caller's shape where a text became a list of blocks."""
    out, own, listed = dict(body), said_in(before), with_own(body)
    said: list[Any] = [user(own)] if isinstance(own, str) else own
    messages = [own_shape(one, was) for one, was in zip(listed, said, strict=True)]
    out["input" if "input" in body else "messages"] = own if isinstance(own, str) and messages == said else messages
    for name in ("system", "instructions"):
        text = body.get(name)
        if isinstance(text, list):
            kept = [one for one in text if not is_added(one)]
            out[name] = before[name] if kept == [{"type": "text", "text": before.get(name)}] else kept
        elif text:
            out[name] = "\n\n".join(part for part in text.split("\n\n") if "nonce=" not in part)
        if name not in before and not out.get(name):
            out.pop(name, None)
    return out


def said_in(body: Mapping[str, Any]) -> Any:
    return body.get("input", body.get("messages", ()))


def with_own(body: Mapping[str, Any]) -> list[Any]:
    """The messages that hold something of the caller's."""
    return [one for one in said_in(body) if isinstance(one.get("content"), list) or not is_added(one)]


def own_shape(message: Any, was: Any) -> Any:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    kept = [one for one in content if not is_added(one)]
    return {**message, "content": was["content"] if kept == [{"type": "text", "text": was.get("content")}] else kept}


# Which requests are calls.


@pytest.mark.parametrize(
    ("path", "api"),
    [
        (CHAT, "openai"),
        ("https://api.openai.com/v1/chat/completions?api-version=1", "openai"),
        ("/api/v1/chat/completions", "openai"),
        (RESPONSES, "openai-responses"),
        ("/responses", "openai-responses"),
        (f"{MESSAGES}?beta=true", "anthropic"),
        ("/v1/messages/count_tokens", None),
        ("/v1/messages/batches", None),
        ("/v1/responses/resp_1", None),
        ("/v1/responses/compact", None),
        ("/v1/embeddings", None),
        ("/v1/models?x=/chat/completions", None),
        ("", None),
    ],
)
def test_a_call_is_known_by_its_path(path: str, api: str | None) -> None:
    """Whatever stands before it, and without its query."""
    call = read_call(path, {"model": "any", "messages": [user("Hi")], "input": "Hi"})
    assert (None if call is None else call.api) == api


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"model":"m"}',
        b'{"model":7,"messages":[{"role":"user","content":"Hi"}]}',
        b'{"messages":[{"role":"user","content":"Hi"}]}',
        b'{"model":"m","messages":[]}',
        b'{"model":"m","messages":{"role":"user"}}',
        b'{"model":"m","messages":7}',
        b'\xef\xbb\xbf{"model":"m","messages":[{"role":"user","content":"Hi"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"\xff"}]}',
        b'{"model":"m","messages":[{"role":"user","content":"\xed\xa0\x80"}]}',
        '{"model":"m","messages":[{"role":"user","content":"Hi"}]}'.encode("utf-16"),
        b'{"model":"m","messages":[' + b"[" * 100_000 + b"]" * 100_000 + b"]}",
        b'{"model":"m","seed":' + b"9" * 5_000 + b',"messages":[{"role":"user","content":"Hi"}]}',
    ],
)
def test_what_cant_be_read_is_no_call(body: bytes) -> None:
    """It goes as it came, and the provider says what is wrong."""
    assert read_call(CHAT, body) is None
    assert read_call(RESPONSES, body.replace(b'"messages"', b'"input"')) is None


def test_a_prompt_template_without_an_input_is_no_call() -> None:
    """There are no words to remember for; one with an input is."""
    assert read_call(RESPONSES, b'{"model":"m","prompt":{"id":"pmpt_1"}}') is None
    assert read_call(RESPONSES, b'{"model":"m","prompt":{"id":"pmpt_1"},"input":""}') is None
    assert read(RESPONSES, prompt={"id": "pmpt_1"}, input="Hi").messages == [user("Hi")]


def test_a_text_as_input_is_the_users_message() -> None:
    """And what the body says beside it are arguments of `assemble`."""
    call = read(RESPONSES, input="Hi", instructions="Be brief.", tools=[{"type": "web_search"}])
    assert call.messages == [user("Hi")]
    assert call.asking == {"model": "any", "provider": "openai-responses", "system": "Be brief."}
    assert call.tools == [{"type": "web_search"}]
    old = read(CHAT, messages=[user("Hi")], functions=[{"name": "f"}])
    assert old.tools == [{"type": "function", "function": {"name": "f"}}]
    assert read(CHAT, messages=[user("Hi")]).tools is None


@pytest.mark.parametrize(
    ("path", "fields", "held"),
    [
        (RESPONSES, {"input": "Hi", "previous_response_id": "resp_1"}, True),
        (RESPONSES, {"input": "Hi", "conversation": {"id": "conv_1"}}, True),
        (RESPONSES, {"input": "Hi", "conversation": "conv_1", "tools": [{"type": "web_search"}]}, True),
        (RESPONSES, {"input": "Hi", "previous_response_id": None, "store": False}, False),
        (MESSAGES, {"messages": [user("Hi")], "thread": {"type": "continue", "previous_message_id": "msg_1"}}, True),
        (MESSAGES, {"messages": [user("Hi")], "thread": {"type": "create"}}, False),
        (MESSAGES, {"messages": [user("Hi")], "thread": "continue"}, False),
        (CHAT, {"messages": [user("Hi")], "previous_response_id": "resp_1", "conversation": "x"}, False),
    ],
)
def test_a_conversation_that_the_provider_holds_is_known(path: str, fields: dict[str, Any], held: bool) -> None:
    """Its tools are held too."""
    call = read(path, **fields)
    assert call.held is held
    assert call.tools is None


# What a context adds.


@pytest.mark.parametrize("api", PATHS)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from(("append", "split", "first")))
@examples(300)
def test_of_any_request_all_that_is_the_callers_stays_as_it_came(
    api: str, seed: int, mid_system: bool, placement: Placement
) -> None:
    """Requests with every part and key, in any spelling: what is new are germane's texts, each of the caller's messages that
    has none of them is the same bytes, and a body that the provider takes stays one."""
    made = made_request(api, Random(seed))
    system = {"anthropic": "system", "openai-responses": "instructions"}.get(api)
    body: dict[str, Any] = {"model": made.model, "input" if api == "openai-responses" else "messages": made.messages}
    body |= {"max_tokens": 9} if api == "anthropic" else {}
    body |= {system: made.system} if made.system and system else {}
    body = json.loads(json.dumps(body | ({"tools": list(made.tools)} if made.tools else {})))
    speller = Speller(seed)
    original = speller.write(body).encode()
    call = read_call(PATHS[api], original)
    assert call is not None
    changed = changed_body(call, mid_system=mid_system, placement=placement)
    written = changed.written(original)
    assert json.loads(written) == changed.fields
    assert without_added(changed.fields, body) == body
    assert [*REFUSES[api](body)] or not [*REFUSES[api](changed.fields)]
    mine = [own for own, sent in zip(said_in(body), with_own(changed.fields), strict=True) if own == sent]
    assert len(mine) >= len(call.messages) - len(context_for(call, placement=placement).earlier) - 1
    for one in mine:
        assert speller.written[id(one)] in written.decode()


def test_without_anything_to_add_there_is_no_new_body() -> None:
    """The request's own bytes go."""
    call = read(CHAT, messages=[user("Hi")])
    assert call.body_with(context_for(call, stable="", late="")) is None


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (CHAT, {"messages": [{"role": "tool", "tool_call_id": "call_1", "content": "done"}]}),
        (CHAT, {"messages": [user("Hi"), {"role": "tool", "tool_call_id": "call_1", "content": "done"}, user(ASKS)]}),
        (CHAT, {"messages": [user(None), user(ASKS)]}),
        (MESSAGES, {"messages": [{"role": "assistant", "content": "Hi"}]}),
        (MESSAGES, {"messages": [user(ASKS), {"role": "assistant", "content": "So "}]}),
        (MESSAGES, {"messages": [user([{"type": "text", "text": " "}]), user(ASKS)]}),
        (MESSAGES, {"messages": [user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "r"}]), user(ASKS)]}),
        (RESPONSES, {"input": [user(ASKS), {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}]}),
    ],
)
def test_what_the_provider_would_refuse_is_left_for_it_to_refuse(path: str, fields: dict[str, Any]) -> None:
    """A context mends such messages; a caller whose request goes through must see the provider's own words."""
    call = read(path, **fields)
    assert call.body_with(context_for(call)) is None


CALLS = {"role": "assistant", "content": "So.", "tool_calls": [{"id": "a", "type": "function", "function": {}}]}


@pytest.mark.parametrize(
    ("path", "own", "written"),
    [
        (CHAT, [user("Hi"), user(ASKS)], [user(LATE), user(ASKS)]),
        (CHAT, [user("Hi"), user(ASKS)], [user("Hi"), user("[Conversation start]"), user(ASKS)]),
        (CHAT, [user("Hi"), user(ASKS)], [user(ASKS), user("Hi")]),
        (CHAT, [user("Hi"), user(ASKS)], [user("Hi")]),
        (CHAT, [user("Hi"), CALLS, user(ASKS)], [user("Hi"), {"role": "assistant", "content": "So."}, user(ASKS)]),
        (MESSAGES, [user("Hi"), user(ASKS)], [user("Hi")]),
        (MESSAGES, [user("Hi"), user(ASKS)], [user("Hi"), user(ASKS), user(ASKS)]),
        (MESSAGES, [user("Hi"), user(ASKS)], [user("Hi"), {"role": "assistant", "content": LATE}, user(ASKS)]),
        (MESSAGES, [user("Hi"), user(ASKS)], [user("[Conversation start]"), user("Hi"), user(ASKS)]),
        (MESSAGES, [user("Hi"), user(ASKS)], [user("Hi"), {"role": "assistant", "content": ASKS}]),
    ],
)
def test_messages_that_arent_the_callers_own_with_texts_among_them_are_not_sent(
    path: str, own: list[Any], written: list[Any]
) -> None:
    """One that is missing, changed, moved, another's or under another role."""
    call = read(path, messages=own)
    context = replace(context_for(call), convert=lambda provider: Wire(messages=written))
    assert call.body_with(context) is None
    assert call.body_with(replace(context, convert=lambda provider: Wire(messages=[*own]))) is not None


def test_fields_that_germane_has_for_itself_are_the_callers() -> None:
    """A provider or a gateway may have them too."""
    own = {**user(ASKS), "id": "msg-7", "created_at": 1_700_000_000, "name": "Ann Smith"}
    sent = changed_body(read(CHAT, messages=[own, {"role": "assistant", "content": "Hm.", "tool_calls": []}])).fields[
        "messages"
    ]
    assert sent == [
        {"role": "system", "content": STABLE},
        user(LATE),
        own,
        {"role": "assistant", "content": "Hm.", "tool_calls": []},
    ]


def test_the_text_stands_before_the_newest_words_and_not_behind_each_step() -> None:
    """In a turn with calls it stays where it was."""
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": {}}]}
    called["tool_calls"][0]["function"] = {"name": "f", "arguments": "{}"}  # type: ignore[index]
    messages = [user("Hi"), {"role": "assistant", "content": "Hi."}, user(ASKS), called]
    messages.append({"role": "tool", "tool_call_id": "a", "content": "done"})
    sent = changed_body(read(CHAT, messages=messages)).fields["messages"]
    places = [at for at, one in enumerate(sent) if is_added(one)]
    assert places == [0, 1, 4]
    assert [sent[at]["role"] for at in places] == ["system", "user", "user"]
    assert sent[5:] == messages[2:]


@pytest.mark.parametrize(
    ("roles", "role"),
    [(("developer",), "developer"), (("system",), "system"), (("developer", "system"), "system"), ((), "system")],
)
def test_the_directive_has_the_role_that_the_caller_has(roles: tuple[str, ...], role: str) -> None:
    """A model doesn't take system and developer side by side."""
    sent = changed_body(read(CHAT, messages=[*({"role": one, "content": "Be brief."} for one in roles), user(ASKS)])).fields
    assert sent["messages"][0] == {"role": role, "content": STABLE}


@pytest.mark.parametrize("held", [{}, {"previous_response_id": "resp_1"}])
def test_a_system_message_in_the_input_stays_there(held: dict[str, Any]) -> None:
    """The provider keeps it for later requests, which it doesn't do with instructions."""
    own = {"role": "system", "content": "Be brief."}
    sent = changed_body(read(RESPONSES, input=[own, user(ASKS)], instructions="In English.", **held)).fields
    assert sent["input"] == [own, user(LATE), user(ASKS)]
    assert sent["instructions"] == f"{STABLE}\n\nIn English."


def test_an_input_without_a_text_for_it_stays_a_string() -> None:
    """The directive alone is in the instructions."""
    call = read(RESPONSES, input=ASKS)
    assert changed_body(call, late="").fields == {**call.body, "instructions": STABLE}


@pytest.mark.parametrize(
    "added",
    [
        [{"type": "function_call_output", "call_id": "a", "output": "done"}],
        [{"type": "function_call_output", "call_id": "a", "output": "done"}, user(ASKS)],
        [{"type": "item_reference", "id": "msg_1"}],
        [{"type": "mcp_approval_response", "approval_request_id": "a", "approve": True}],
    ],
)
def test_outputs_for_a_held_conversation_go_as_they_came(added: list[Any]) -> None:
    """With the instructions, which the provider doesn't hold."""
    call = read(RESPONSES, input=added, previous_response_id="resp_1")
    assert changed_body(call).fields == {**call.body, "instructions": STABLE}
    assert call.body_with(context_for(call, stable="")) in (None, ChangedBody(fields=dict(call.body), before=call.body))


def test_of_a_held_thread_only_new_words_are_touched() -> None:
    """The request may have no system; results go as they came, also with words beside them."""
    thread = {"type": "continue", "previous_message_id": "msg_1"}
    sent = changed_body(read(MESSAGES, thread=thread, messages=[user(ASKS)])).fields
    assert "system" not in sent
    assert [one["text"] for one in sent["messages"][0]["content"]] == [LATE, ASKS]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}
    for content in ([result], [result, {"type": "text", "text": ASKS}]):
        call = read(MESSAGES, thread=thread, messages=[user(content)])
        assert call.body_with(context_for(call)) is None


@pytest.mark.requirement("INJECT-10")
def test_the_names_of_betas_are_apart_from_the_body() -> None:
    """The HTTP API takes them in its header alone; a field of that name that the caller sends is the caller's."""
    for more in ({}, {"betas": ["own"]}):
        call = read(MESSAGES, messages=[user(ASKS)], thinking={"type": "adaptive"}, **more)
        told = changed_body(call, changed=True)
        assert told.betas == (BINDING_CONTROLS,)
        assert told.fields["thinking"] == {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        assert {name: told.fields.get(name) for name in more} == more
        assert ("betas" in told.fields) == bool(more)
        assert changed_body(call).betas == ()
    assert told.beta_header("") == BINDING_CONTROLS
    assert told.beta_header("a-1,  b-2") == f"a-1,  b-2,{BINDING_CONTROLS}"
    assert told.beta_header(f"{BINDING_CONTROLS} ,c") == f"{BINDING_CONTROLS} ,c"


IMAGE = {"type": "image_url", "image_url": {"url": PNG}}
SHAPES: Mapping[str, tuple[str, dict[str, Any]]] = {
    "several answers": (CHAT, {"messages": [user("Hi"), user(ASKS)], "n": 2}),
    "a stream": (CHAT, {"messages": [user(ASKS)], "stream": True, "stream_options": {"include_usage": True}}),
    "functions": (
        CHAT,
        {
            "messages": [
                user("Hi"),
                {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
                {"role": "function", "name": "f", "content": "done"},
                user(ASKS),
            ],
            "functions": [{"name": "f", "parameters": {}}],
        },
    ),
    "an image": (CHAT, {"messages": [{**user([{"type": "text", "text": ASKS}, IMAGE]), "name": "ann"}]}),
    "one that is in the background": (RESPONSES, {"input": ASKS, "background": True, "store": True}),
    "one that isn't stored": (RESPONSES, {"input": [user("Hi"), user(ASKS)], "store": False}),
    "a template": (RESPONSES, {"input": ASKS, "prompt": {"id": "pmpt_1", "variables": {"a": "b"}}}),
    "an image in the input": (
        RESPONSES,
        {"input": [user([{"type": "input_text", "text": ASKS}, {"type": "input_image", "image_url": PNG}])]},
    ),
    "blocks with marks": (
        MESSAGES,
        {
            "max_tokens": 9,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [user("Hi"), {"role": "assistant", "content": "Hi."}, user([{"type": "text", "text": ASKS}])],
        },
    ),
    "two messages of the user in a row": (MESSAGES, {"max_tokens": 9, "messages": [user("Hi"), user(ASKS)]}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_each_shape_of_a_request_keeps_its_bytes(name: str) -> None:
    """With texts at several turns, as the sender spelled it."""
    path, fields = SHAPES[name]
    original = json.dumps({"model": "any", **fields}, indent=1).encode()
    call = read_call(path, original)
    assert call is not None
    changed = changed_body(call)
    assert without_added(changed.fields, call.body) == call.body
    assert json.loads(changed.written(original)) == changed.fields
    kept = json.dumps(
        {"model": "any", **{key: one for key, one in fields.items() if key not in ("messages", "input", "system")}}, indent=1
    )
    assert all(line.strip(", ").encode() in changed.written(original) for line in kept.splitlines())
