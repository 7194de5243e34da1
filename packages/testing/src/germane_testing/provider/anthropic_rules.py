"""Anthropic's rules: what the Messages API refuses in a request's body.

They were written from documentation, error messages and the types of the SDK, apart from germane's dialects, for a model that
takes system messages in the middle. `anthropic_refuses` yields one line for each reason, in time linear in the body. Unchecked
are the values of most options, the contents of media, and the schemas of tools. What depends on earlier requests (threads,
thinking bound to its prefix) isn't a rule of the body: see `threads` and `binding`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from germane_testing.provider.fields import Body, fields_of, listed, mapping, names_of_tools, shape_of, spelled, words

__all__ = ["BINDING_BETA", "CLEARING_BETA", "MAX_CACHE_MARKS", "THREADS_BETA", "anthropic_refuses"]

THREADS_BETA: Final = "message-threads-2026-08-12"
BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
CLEARING_BETA: Final = "mid-conversation-system-clear-at-2026-08-21"
MAX_CACHE_MARKS: Final = 4
_OPTIONS = words("""
    billing_policy cache_control compaction container context_management diagnostics fallback_credit_token fallbacks
    inference_geo mcp_servers metadata output_config output_format service_tier speed stop_sequences stream system
    temperature thinking thread tool_choice tools top_k top_p
""")
_BLOCKS = spelled("""
    text: text ? cache_control citations
    image: source ? cache_control transformations
    document: source ? cache_control citations context title
    search_result: content source title ? cache_control citations
    thinking: thinking signature
    redacted_thinking: data
    tool_use: id name input ? cache_control caller toolset_name
    tool_result: tool_use_id ? cache_control content is_error toolset_name
    server_tool_use: id name input ? cache_control caller
    web_search_tool_result: tool_use_id content ? cache_control caller
    web_fetch_tool_result: tool_use_id content ? cache_control caller
    code_execution_tool_result: tool_use_id content ? cache_control
    bash_code_execution_tool_result: tool_use_id content ? cache_control
    text_editor_code_execution_tool_result: tool_use_id content ? cache_control
    tool_search_tool_result: tool_use_id content ? cache_control
    mcp_tool_use: id input name server_name ? cache_control
    mcp_tool_result: tool_use_id ? cache_control content is_error
    container_upload: file_id ? cache_control
    compaction: ? cache_control content encrypted_content signature tool_changes
    tool_addition: tool ? cache_control
    tool_removal: tool ? cache_control
    fallback: from to ? trigger
""")
_ASSISTANTS = frozenset({"tool_use", "thinking", "redacted_thinking", "server_tool_use", "mcp_tool_use", "fallback"})
_USERS = frozenset({"tool_result", "image", "document", "search_result", "container_upload"})
_THINKING = spelled("""
    enabled: budget_tokens ? block_binding display
    adaptive: ? block_binding display
    disabled: ?
    between_tools: ?
""")
_THREADS = spelled("""
    create: ?
    continue: previous_message_id
""")
_CHOICES = spelled("""
    auto: ? disable_parallel_tool_use
    any: ? disable_parallel_tool_use
    tool: name ? disable_parallel_tool_use
    none: ?
""")
_TOOL = words("""
    type description cache_control allowed_callers defer_loading eager_input_streaming input_examples strict
""")
_CACHE = spelled("ephemeral: ? ttl")


def anthropic_refuses(
    body: Body, betas: Collection[str] | None = None, *, counting: bool = False, continues: bool = False
) -> Iterator[str]:
    """The Messages API. `betas` are those of the request's header; None takes fields of any beta. With `counting` no
    `max_tokens` is needed. `continues` is a thread's next turn, joined to the messages that the provider holds."""
    yield from fields_of("body", body, {"model", "messages"} | (set() if counting else {"max_tokens"}), _OPTIONS)
    yield from _options(body, betas)
    system, messages = body.get("system", "none"), listed(body.get("messages")) or [{}]
    if system in ("", []):
        yield "system is empty"
    for block in listed(system):
        yield from shape_of("system", block, _BLOCKS)
        if block.get("type") != "text":
            yield "system: text blocks only"
    waiting: list[str] = []
    for index, message in enumerate(messages):
        where, role = f"messages[{index}]", message.get("role")
        yield from _message(where, message, betas)
        parts = listed(message.get("content"))
        answered = [str(part.get("tool_use_id")) for part in parts if part.get("type") == "tool_result"]
        if sorted(answered) != sorted(waiting):
            yield f"{where}: tool_use ids {waiting} were found without tool_result blocks immediately after"
        waiting = [str(part.get("id")) for part in parts if part.get("type") == "tool_use"]
        before = messages[index - 1].get("role") if index else "nothing"
        after = messages[index + 1].get("role") if index + 1 < len(messages) else "nothing"
        if role == "system" and (before != "user" or after not in ("assistant", "nothing")):
            yield f"{where}: a system message must be behind a user's"
    if messages[0].get("role") != "user" and not continues:
        yield "the first message must be the user's"
    marks = _marks(body)
    if marks > MAX_CACHE_MARKS:
        yield f"more than {MAX_CACHE_MARKS} cache_control blocks: {marks}"


def _options(body: Body, betas: Collection[str] | None) -> Iterator[str]:
    for key, shapes in (("thinking", _THINKING), ("thread", _THREADS), ("tool_choice", _CHOICES), ("cache_control", _CACHE)):
        if body.get(key) is not None:
            yield from shape_of(key, body[key], shapes)
    if body.get("diagnostics") is not None:
        yield from fields_of("diagnostics", body["diagnostics"], (), {"previous_message_id"})
    if body.get("metadata") is not None:
        yield from fields_of("metadata", body["metadata"], (), {"user_id"})
    if betas is not None and body.get("thread") is not None and THREADS_BETA not in betas:
        yield f"thread: needs the beta {THREADS_BETA}"
    binding = mapping(body.get("thinking")).get("block_binding")
    if binding is not None:
        yield from fields_of("thinking.block_binding", binding, (), {"prefix_mismatch_behavior"})
        if mapping(binding).get("prefix_mismatch_behavior") not in (None, "error", "drop_block"):
            yield "thinking.block_binding.prefix_mismatch_behavior: error or drop_block"
        if betas is not None and BINDING_BETA not in betas:
            yield f"thinking.block_binding: needs the beta {BINDING_BETA}"
    tools = listed(body.get("tools"))
    for index, tool in enumerate(tools):
        if tool.get("type") in (None, "custom"):  # a tool of another type is the provider's own
            yield from fields_of(f"tools[{index}]", tool, {"name", "input_schema"}, _TOOL)
    yield from names_of_tools("tools", [tool["name"] for tool in tools if "name" in tool])


def _message(where: str, message: Body, betas: Collection[str] | None) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    if role == "system":
        yield from fields_of(where, message, {"role"}, {"content", "clear_at", "output_config"})
        if message.get("clear_at") not in (None, "never", "next_user_message"):
            yield f"{where}: clear_at {message['clear_at']!r}"
        if "clear_at" in message and betas is not None and CLEARING_BETA not in betas:
            yield f"{where}: clear_at needs the beta {CLEARING_BETA}"
    else:
        yield from fields_of(where, message, {"role", "content"}, ())
    if role not in ("user", "assistant", "system"):
        yield f"{where}: role {role!r}"
    if not content and not message.get("output_config"):
        yield f"{where}: no content"
    if isinstance(content, str) and content and not content.strip():
        yield f"{where}: text content blocks must be non-empty"
    for block in listed(content):
        yield from shape_of(where, block, _BLOCKS)
        kind = str(block.get("type"))
        if kind == "text" and not str(block.get("text")).strip():
            yield f"{where}: text content blocks must be non-empty"
        if (kind in _ASSISTANTS and role != "assistant") or (kind in _USERS and role != "user"):
            yield f"{where}: {kind} in a message of {role}"
        if block.get("cache_control") is not None:
            yield from shape_of(f"{where}.cache_control", block["cache_control"], _CACHE)


def _marks(body: Body) -> int:
    """The marks of the prompt cache: in the system, the tools and the messages, results of tools included, and the one
    above."""
    blocks = [*listed(body.get("tools")), *listed(body.get("system"))]
    for message in listed(body.get("messages")):
        for block in listed(message.get("content")):
            blocks += [block, *(listed(block.get("content")) if block.get("type") == "tool_result" else ())]
    return sum(block.get("cache_control") is not None for block in blocks) + (body.get("cache_control") is not None)
