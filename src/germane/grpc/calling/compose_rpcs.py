"""Compose RPCs: the client's calls for texts within a number of tokens: about, build_context, compress, estimate_tokens."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from germane.errors import InvalidInput
from germane.grpc.calling.assemble_call import ClientScope, checked_text, filters_to_wire, time_to_wire
from germane.grpc.calling.block_values import number_given, wire_struct
from germane.grpc.calling.compose_values import (
    KnownAbout,
    RemoteContext,
    about_of_wire,
    compressed_of_wire,
    context_of_wire,
    counted_of_wire,
)
from germane.grpc.calling.rpcs import ClientRpc, scope_to_wire
from germane.grpc.stubs import compose_pb2 as pb
from germane.grpc.stubs.compose_pb2_grpc import ComposeServiceStub
from germane.types.compressed_text import CompressedText, TokenCount
from germane.types.limits import COUNT, shown

__all__ = ["about", "build_context", "compress", "estimate_tokens", "expand"]

_MAX_SECONDS = 60.0


def about(
    scope: ClientScope,
    name: str | None = None,
    *,
    at: datetime | None = None,
    max_tokens: int = 1000,
    model: str = "gpt-4o",
    filters: Any = None,
) -> ClientRpc[KnownAbout]:
    """Returns everything that is known about a person or a thing: what holds now, what no longer holds, and the messages that
    name it, within `max_tokens`; without a name, about the user. `at` is the time asked about (default: now). Raises
    `InvalidInput`."""
    request = pb.AboutRequest(
        scope=scope_to_wire(scope),
        name="" if name is None else checked_text("name", name),
        at=None if at is None else time_to_wire("at", at, scope.zone),
        max_tokens=number_given("max_tokens", max_tokens, 1, COUNT.maximum),
        model=checked_text("model", model),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
    )
    return ClientRpc(ComposeServiceStub, "About", request, lambda response: about_of_wire(response, name or scope.user or "me"))


def build_context(
    scope: ClientScope,
    query: str,
    *,
    session: str | None = None,
    max_tokens: int,
    strategy: str | Mapping[str, Any] | None = None,
    additional_context: str | None = None,
    filters: Any = None,
    model: str = "gpt-4o",
    at: datetime | None = None,
    deadline: float | None = None,
) -> ClientRpc[RemoteContext]:
    """Returns what is known for `query` as one text of at most `max_tokens` tokens, with its components, as
    `germane.Agent.build` does. `strategy` is a name, or the settings to change; `deadline` is in seconds (default 0.25). Raises
    `InvalidInput`."""
    changes = wire_struct("strategy", strategy) if isinstance(strategy, Mapping) else None
    request = pb.BuildContextRequest(
        scope=scope_to_wire(scope),
        query=checked_text("query", query),
        session_id=checked_text("session", session, optional=True),
        max_tokens=number_given("max_tokens", max_tokens, 1, COUNT.maximum),
        strategy="" if isinstance(strategy, Mapping) else checked_text("strategy", strategy, optional=True),
        strategy_changes=changes,
        additional_context=checked_text("additional_context", additional_context, optional=True),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
        model=checked_text("model", model),
        at=None if at is None else time_to_wire("at", at, scope.zone),
        deadline_ms=_milliseconds(deadline),
    )
    return ClientRpc(ComposeServiceStub, "BuildContext", request, context_of_wire)


def expand(scope: ClientScope, id: str, *, filters: Any = None) -> ClientRpc[str]:
    """Returns the whole text of what has this id: a task's result, a message, a memory, an archival entry, a block. The ids of
    a context's lines are those of its items, or a component's `source`. Raises `NotFound`."""
    request = pb.ExpandItemRequest(
        scope=scope_to_wire(scope),
        id=checked_text("id", id),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
    )
    return ClientRpc(ComposeServiceStub, "ExpandItem", request, lambda response: str(response.text))


def compress(
    scope: ClientScope,
    content: str,
    max_tokens: int,
    *,
    model: str = "gpt-4o",
    query: str | None = None,
    use_llm: bool | None = None,
) -> ClientRpc[CompressedText]:
    """Returns `content` within `max_tokens` tokens, never longer than it was: by the service's language model where it has one,
    else its own sentences. Nothing is stored. Raises `InvalidInput`."""
    request = pb.CompressTextRequest(
        scope=scope_to_wire(scope),
        content=checked_text("content", content, optional=True),
        max_tokens=number_given("max_tokens", max_tokens, 0, COUNT.maximum),
        model=checked_text("model", model),
        query=checked_text("query", query, optional=True),
        use_llm=use_llm,
    )
    return ClientRpc(ComposeServiceStub, "CompressText", request, compressed_of_wire)


def estimate_tokens(scope: ClientScope, content: str, *, model: str = "gpt-4o") -> ClientRpc[TokenCount]:
    """Returns the tokens of `content` for `model`: exact where the service has its vocabulary, else an upper estimate."""
    request = pb.EstimateTokensRequest(
        scope=scope_to_wire(scope), content=checked_text("content", content, optional=True), model=checked_text("model", model)
    )
    return ClientRpc(ComposeServiceStub, "EstimateTokens", request, counted_of_wire)


def _milliseconds(deadline: float | None) -> int:
    if deadline is None:
        return 0
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= _MAX_SECONDS:
        raise InvalidInput(f"deadline must be a number of seconds, above 0 and at most 60, not {shown(deadline)}")
    return max(1, round(deadline * 1000))
