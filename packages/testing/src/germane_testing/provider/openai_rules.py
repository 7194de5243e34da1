"""OpenAI's rules: what the chat completions API and the Responses API refuse in a request's body.

They were written from documentation, error messages and the types of the SDK, apart from germane's dialects. Each function
yields one line for each reason, in time linear in the body. Unchecked are the values of options, the contents of media, and the
schemas of tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from germane_testing.provider.fields import Body, fields_of, listed, mapping, names_of_tools, shape_of, spelled, words

__all__ = ["MAX_CHOICES", "chat_refuses", "responses_refuses"]

MAX_CHOICES: Final = 128
"""The largest `n`."""
_CHAT = words("""
    audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens metadata modalities
    moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options
    prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier stop store stream
    stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options
""")
_RESPONSES = words("""
    access_programs background background_options context_management conversation image include input instructions
    max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt
    prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream
    stream_options temperature text tool_choice tools top_logprobs top_p truncation user
""")
_SOCKET = frozenset({"type", "generate", "stream_id"})
"""Fields of `response.create` alone."""
_MESSAGES = spelled("""
    system: role ? content name
    developer: role ? content name
    user: role ? content name
    assistant: role ? content name tool_calls refusal annotations audio function_call
    tool: role tool_call_id ? content
    function: role name ? content
""")
_PARTS = spelled("""
    text: text ? prompt_cache_breakpoint
    image_url: image_url ? prompt_cache_breakpoint
    input_audio: input_audio ? prompt_cache_breakpoint
    file: file ? prompt_cache_breakpoint
    refusal: refusal
""")
_CALLS = spelled("""
    function: id function
    custom: id custom
""")
_CHAT_TOOLS = spelled("""
    function: function
    custom: custom
""")
_ITEMS = spelled("""
    function_call: call_id name arguments ? id status async caller namespace
    function_call_output: call_id output ? id status caller name namespace
    custom_tool_call: call_id name input ? id status async caller namespace
    custom_tool_call_output: call_id output ? id status caller
    reasoning: id summary ? encrypted_content content status
    web_search_call: id action ? status
    file_search_call: id queries ? status results
    computer_call: id call_id pending_safety_checks ? status action actions
    computer_call_output: call_id output ? id status acknowledged_safety_checks
    code_interpreter_call: id code container_id ? outputs status
    image_generation_call: id result ? status action background error output_format quality revised_prompt size svg_usage
    local_shell_call: id action call_id ? status
    local_shell_call_output: id output ? status
    shell_call: action call_id ? id status caller environment
    shell_call_output: call_id output ? id status caller max_output_length
    apply_patch_call: call_id operation ? id status caller
    apply_patch_call_output: call_id ? id status caller output
    tool_search_call: arguments ? id call_id execution status
    tool_search_output: tools ? id call_id execution status
    additional_tools: role tools ? id
    configuration_update: ? id reasoning text
    compaction: encrypted_content ? id
    compaction_trigger: ? id
    mcp_list_tools: id server_label tools ? error
    mcp_approval_request: id arguments name server_label
    mcp_approval_response: approval_request_id approve ? id reason
    mcp_call: id arguments name server_label ? approval_request_id error output status
    item_reference: id
    program: id call_id code fingerprint
    program_output: id call_id result ? status
""")
_TEXTS = spelled("""
    input_text: text ? prompt_cache_breakpoint
    input_image: ? image_url file_id detail prompt_cache_breakpoint
    input_file: ? file_data file_id file_url filename detail prompt_cache_breakpoint
    input_audio: input_audio
    output_text: text ? annotations logprobs
    refusal: refusal
""")
_RESPONSE_TOOLS = spelled("""
    function: name parameters ? strict async allowed_callers defer_loading description output_schema
    custom: name ? async allowed_callers defer_loading description format
    namespace: description name tools
    tool_search: ? description execution parameters
""")
"""Tools of other types are the provider's own, and taken as they come."""


def chat_refuses(body: Body) -> Iterator[str]:
    """The chat completions API: roles, parts, tools, and each call with its results right behind it."""
    yield from fields_of("body", body, {"model", "messages"}, _CHAT)
    yield from _stream_options(body)
    if body.get("n") is not None and body["n"] not in range(1, MAX_CHOICES + 1):
        yield f"n: 1 to {MAX_CHOICES}"
    yield from _chat_tools(body)
    waiting = Counter[str]()
    for index, message in enumerate(listed(body.get("messages")) or [{}]):
        where, role = f"messages[{index}]", message.get("role")
        if not isinstance(role, str) or role not in _MESSAGES:
            yield f"{where}: role {role!r}"
            continue
        yield from shape_of(where, message, _MESSAGES, role)
        if role != "tool" and waiting:
            yield f"{where}: calls {list(waiting)} without results before it"
        if role == "tool":
            answered = str(message.get("tool_call_id"))
            if answered not in waiting:
                yield f"{where}: result of no call"
            elif waiting[answered] == 1:
                del waiting[answered]
            else:
                waiting[answered] -= 1
        if message.get("content") is None and not message.get("tool_calls") and not message.get("refusal"):
            yield f"{where}: no content"
        for part in listed(message.get("content")):
            yield from shape_of(f"{where}.content", part, _PARTS)
        for call in listed(message.get("tool_calls")):
            yield from shape_of(f"{where}.tool_calls", call, _CALLS)
            if call.get("type") == "function":
                yield from fields_of(f"{where}.tool_calls", call.get("function"), {"name", "arguments"}, ())
            waiting[str(call.get("id"))] += 1
    if waiting:
        yield f"calls {list(waiting)} without results"


def _chat_tools(body: Body) -> Iterator[str]:
    tools = listed(body.get("tools"))
    for index, tool in enumerate(tools):
        yield from shape_of(f"tools[{index}]", tool, _CHAT_TOOLS)
        if tool.get("type") == "function":
            optional = {"description", "parameters", "strict"}
            yield from fields_of(f"tools[{index}].function", tool.get("function"), {"name"}, optional)
    named = [mapping(tool.get(str(tool.get("type")))).get("name") for tool in tools]
    yield from names_of_tools("tools", named)


def _stream_options(body: Body) -> Iterator[str]:
    if body.get("stream_options") is not None and not body.get("stream"):
        yield "stream_options is only allowed when stream is enabled"


def responses_refuses(body: Body, *, held: Sequence[Body] = (), socket: bool = False) -> Iterator[str]:
    """The Responses API: items, pairs of calls and outputs, and reasoning with what follows it.

    `held` are the items that the provider has of the conversation already; calls of these may be answered. `socket` is a body
    of a `response.create` event.
    """
    yield from fields_of("body", body, {"model"}, _RESPONSES | (_SOCKET if socket else frozenset()))
    if not socket:
        yield from _stream_options(body)
    if body.get("instructions") == "":
        yield "instructions are empty"
    if body.get("previous_response_id") and body.get("conversation"):
        yield "conversation and previous_response_id can't be used together"
    if body.get("background") and body.get("store") is False:
        yield "background responses must be stored"
    for index, tool in enumerate(listed(body.get("tools"))):
        if str(tool.get("type")) in _RESPONSE_TOOLS:
            yield from shape_of(f"tools[{index}]", tool, _RESPONSE_TOOLS)
        elif not isinstance(tool.get("type"), str):
            yield f"tools[{index}]: type is required"
    yield from names_of_tools("tools", [tool["name"] for tool in listed(body.get("tools")) if "name" in tool])
    given = body.get("input")
    if given is None and not held and not body.get("prompt"):
        yield "body: input is required"
    elif isinstance(given, list):
        yield from _items(listed(given), held)
    elif not isinstance(given, str | None):
        yield "input: must be a text or an array"


def _items(items: list[Body], held: Sequence[Body]) -> Iterator[str]:
    outputs = Counter(str(item.get("call_id")) for item in items if str(item.get("type")).endswith("_call_output"))
    calls = {str(item.get("call_id")) for item in held if str(item.get("type")).endswith("_call")}
    for index, item in enumerate(items):
        where, kind = f"input[{index}]", item.get("type", "message")
        if kind == "message":
            yield from _item_message(where, item)
            continue
        yield from shape_of(where, item, _ITEMS)
        call_id = str(item.get("call_id"))
        if kind in ("function_call", "custom_tool_call"):
            calls.add(call_id)
            if outputs[call_id] != 1:
                yield f"{where}: no tool output found for {call_id}"
            if kind == "function_call" and not str(item.get("id") or "fc_").startswith("fc_"):
                yield f"{where}: id must begin with fc_"
        elif kind in ("function_call_output", "custom_tool_call_output") and call_id not in calls:
            yield f"{where}: no tool call found for {call_id}"
        elif kind == "reasoning":
            following = items[index + 1] if index + 1 < len(items) else {}
            next_kind = str(following.get("type"))
            if following.get("role") != "assistant" and next_kind != "reasoning" and not next_kind.endswith("_call"):
                yield f"{where}: reasoning without its required following item"
        elif isinstance(kind, str) and kind.endswith("_call"):
            calls.add(call_id)


def _item_message(where: str, item: Body) -> Iterator[str]:
    role = item.get("role")
    if role == "assistant":
        yield from fields_of(where, item, {"role", "content"}, {"type", "id", "status", "phase"})
        if not str(item.get("id") or "msg_").startswith("msg_"):
            yield f"{where}: id must begin with msg_"
    elif role in ("user", "system", "developer"):
        yield from fields_of(where, item, {"role", "content"}, {"type", "status"})
    else:
        yield f"{where}: role {role!r}"
    if item.get("content") in (None, []):  # the API takes an empty text
        yield f"{where}: no content"
    for part in listed(item.get("content")):
        yield from shape_of(f"{where}.content", part, _TEXTS)
