"""Local provider: a server on the loopback address that speaks the protocols of OpenAI, Anthropic and Gemini as strictly as
they do.

It needs the extra `provider` of germane-testing. `docs/use/local-provider.md` shows what it does.
"""

from germane_testing.provider.received import Asked, Received
from germane_testing.provider.replies import (
    DROP,
    HANG,
    Delivery,
    Failure,
    Refusal,
    Reply,
    Text,
    Thinking,
    ToolCall,
    Usage,
    Verbatim,
    answers,
    calls_tools,
    echoes,
    too_long,
)
from germane_testing.provider.server import LocalProvider, ProviderOptions, local_provider, provider_in_thread

__all__ = [
    "DROP",
    "HANG",
    "Asked",
    "Delivery",
    "Failure",
    "LocalProvider",
    "ProviderOptions",
    "Received",
    "Refusal",
    "Reply",
    "Text",
    "Thinking",
    "ToolCall",
    "Usage",
    "Verbatim",
    "answers",
    "calls_tools",
    "echoes",
    "local_provider",
    "provider_in_thread",
    "too_long",
]
