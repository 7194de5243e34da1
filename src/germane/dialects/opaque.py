"""Opaque: which of a provider's own items are signed or encrypted, and which must stand before what follows them (HIST-5).

Such an item is moved whole and unchanged, with what it belongs to, or not at all. OpenAI encrypts reasoning and compaction
items, Anthropic signs thinking and compaction blocks, and Gemini puts a signature on any part of the model's.
"""

from __future__ import annotations

from germane.types.message import Opaque

__all__ = ["bound_to_next", "prefix_bound", "signed"]

_SIGNATURES = ("encrypted_content", "signature", "thoughtSignature", "thought_signature")
_SEALED = frozenset(
    {
        "anthropic:compaction",
        "anthropic:fallback",
        "anthropic:redacted_thinking",
        "anthropic:thinking",
        "openai-responses:compaction",
        "openai-responses:reasoning",
    }
)
_FOLLOWED = frozenset(
    {
        "anthropic:mcp_tool_use",
        "anthropic:redacted_thinking",
        "anthropic:server_tool_use",
        "anthropic:thinking",
        "gemini:executableCode",
        "gemini:executable_code",
        "gemini:toolCall",
        "gemini:tool_call",
        "openai-responses:mcp_approval_request",
        "openai-responses:mcp_approval_response",
        "openai-responses:program",
        "openai-responses:reasoning",
    }
)


def signed(part: Opaque) -> bool:
    """Returns whether the provider refuses the item, or reads it wrongly, once anything in it is changed."""
    return part.kind in _SEALED or any(part.raw.get(key) for key in _SIGNATURES)


def bound_to_next(part: Opaque) -> bool:
    """Returns whether what stands behind the item came of it, so that neither may go without the other.

    These are reasoning and the call or message that follows, thinking and the rest of its turn, a server's call and its result,
    and a request for approval, its answer, and the call that was approved."""
    return part.kind in _FOLLOWED or (part.kind.startswith("gemini:") and signed(part))


def prefix_bound(part: Opaque) -> bool:
    """Returns whether the provider checks what stands before the item against what stood there when it was made.

    Anthropic's newer models refuse thinking where the system prompt, a tool or an earlier message has changed since, and all
    thinking behind it ("preserved thinking"). Who changes an earlier message leaves such items out: see `unbound`."""
    return part.kind in ("anthropic:thinking", "anthropic:redacted_thinking")
