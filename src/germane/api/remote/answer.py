"""Answer: what a client's `assemble` returns: messages ready to send, and metadata about the call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from germane.types.reports import Metadata


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetadata(Metadata):
    """The service's metadata and the id of the request.

    `fallback_reason` may also be one of the client's own: `grpc_error:<CODE>`, `http_error:<what>`,
    `client_error:<what>` or `client_breaker_open`. With each of those `degradation_level` is 3. `timings` are seconds by stage,
    measured on the server.
    """

    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The messages to send to the model.

    `messages` is a new list. It holds the caller's own objects for all messages that weren't changed, and the added ones.
    `system` is the system prompt for a provider that keeps it apart from the messages, a string or a list of blocks, else None.
    `explanation` is text for a person, empty unless the call asked for it.
    """

    messages: Any
    system: str | list[Any] | None = None
    metadata: ClientMetadata = field(default_factory=ClientMetadata)
    explanation: str = ""

    def __repr__(self) -> str:
        metadata, size = self.metadata, len(self.messages) if isinstance(self.messages, list) else 0
        why = f" {metadata.fallback_reason}" if metadata.fallback_reason else ""
        return f"<Answer {size} messages {metadata.total_tokens_injected} tokens L{metadata.degradation_level}{why}>"
