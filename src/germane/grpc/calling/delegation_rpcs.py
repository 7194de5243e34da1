"""Delegation RPCs: the client's calls that give tasks to other agents: delegate, finish, and the list of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from germane.errors import InvalidInput
from germane.grpc.calling.assemble_call import ClientScope, checked_text, filters_to_wire
from germane.grpc.calling.block_values import number_given
from germane.grpc.calling.outbound import add_messages
from germane.grpc.calling.rpcs import ClientRpc, scope_to_wire, sendable
from germane.grpc.calling.task_rpcs import Artifacts, artifacts_to_wire
from germane.grpc.calling.task_values import frame_of_wire
from germane.grpc.stubs import context_pb2
from germane.grpc.stubs import task_pb2 as pb
from germane.grpc.stubs.task_pb2_grpc import TaskServiceStub
from germane.tasks.frame import TaskFrame
from germane.types.limits import COUNT, PAGE, shown

__all__ = ["RemoteDelegation", "delegate", "finish", "list_delegations"]

_MAX_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteDelegation:
    """One task given to another agent. `messages` are what its model gets, and `system` its system prompt where the provider
    keeps that apart. `frame` is the task in the delegating stack; its `child_session` is the session that the other agent works
    in, and `allowed` the sensitivities that it may see. `explanation` says what it gets and why."""

    frame: TaskFrame
    messages: list[dict[str, Any]] = field(repr=False)
    system: Any = field(default=None, repr=False)
    tokens: int = 0
    explanation: str = field(default="", repr=False)


def delegate(
    scope: ClientScope,
    task: str,
    mode: str = "brief",
    *,
    model: str,
    session: str | None = None,
    messages: Sequence[Any] | None = None,
    max_tokens: int = 2000,
    provider: str | None = None,
    filters: Any = None,
    agent_wide: bool = False,
    deadline: float = 5.0,
) -> ClientRpc[RemoteDelegation]:
    """Gives a task to another agent, and returns the messages for it, as `germane.Agent.delegate` does. `agent_wide` keeps from
    the other agent what belongs to the user. `delegations.finish` brings the result back. Raises `InvalidInput`, and
    `GermaneError` for a key that may not read."""
    if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline <= _MAX_SECONDS:
        raise InvalidInput(f"deadline must be a number of seconds, above 0 and at most 60, not {shown(deadline)}")
    carrier = context_pb2.AssembleContextRequest()
    if messages is not None:
        with sendable():
            add_messages(messages, carrier, all=True)
    request = pb.DelegateTaskRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        task=checked_text("task", task),
        mode=checked_text("mode", mode),
        model=checked_text("model", model),
        messages=carrier.messages,
        max_tokens=number_given("max_tokens", max_tokens, 1, COUNT.maximum),
        provider=checked_text("provider", provider, optional=True),
        filters=None if filters is None else filters_to_wire(filters, scope.zone),
        agent_wide=agent_wide,
        deadline_ms=max(1, round(deadline * 1000)),
    )
    return ClientRpc(TaskServiceStub, "DelegateTask", request, _delegation)


def finish(
    scope: ClientScope, id: str, result: str, *, status: str = "complete", artifacts: Artifacts = ()
) -> ClientRpc[TaskFrame]:
    """Ends a delegated task with the result that its agent brought, and returns it. Raises `NotFound`, and `InvalidInput` where
    it has ended already."""
    request = pb.FinishDelegationRequest(
        scope=scope_to_wire(scope),
        id=checked_text("id", id),
        result=checked_text("result", result),
        status=checked_text("status", status),
        artifacts=artifacts_to_wire(artifacts),
    )
    return ClientRpc(TaskServiceStub, "FinishDelegation", request, lambda response: frame_of_wire(response.task))


def list_delegations(
    scope: ClientScope, session: str | None = None, *, open: bool = False, limit: int = 100
) -> ClientRpc[tuple[TaskFrame, ...]]:
    """Returns at most `limit` (1 to 1,000) delegated tasks of a session, the latest first; with `open` those that run."""
    request = pb.ListDelegationsRequest(
        scope=scope_to_wire(scope),
        session_id=checked_text("session", session),
        open=open,
        limit=number_given("limit", limit, 1, PAGE.maximum),
    )

    def read(response: pb.ListDelegationsResponse) -> tuple[TaskFrame, ...]:
        return tuple(map(frame_of_wire, response.tasks))

    return ClientRpc(TaskServiceStub, "ListDelegations", request, read)


def _delegation(wire: pb.DelegateTaskResponse) -> RemoteDelegation:
    return RemoteDelegation(
        frame=frame_of_wire(wire.task),
        messages=json.loads(wire.messages_json),
        system=json.loads(wire.system_json) if wire.system_json else None,
        tokens=wire.tokens,
        explanation=wire.explanation,
    )
