"""Task servicer: the RPCs of `TaskService`; each calls the method of `agent.tasks` with the same meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar

from germane.api.workers.threads import by_turns
from germane.grpc.server.authorisation import AgentResolver, denied
from germane.grpc.server.call import RpcCall, may_read
from germane.grpc.server.from_wire import message_dict, required, set_filters
from germane.grpc.server.memory_servicer import limit_of
from germane.grpc.server.refusals import invalid
from germane.grpc.server.to_wire import provenance, stamp, wire_text
from germane.grpc.stubs import task_pb2 as pb
from germane.kinds.keys.value import Right
from germane.kinds.tasks.value import TaskArtifact, TaskBranch, TaskCheckpoint, TaskFrame
from germane.types.json_text import JsonText
from germane.types.limits import LIST_ITEMS, MESSAGES, check_size
from germane.types.message import Message

_LISTED, _BRIEF_TOKENS, _MILLISECONDS = 100, 2000, 5000


class TaskServicer:
    """Runs on the engine's loop. Raises `Refused`, `InvalidInput`, `NotFound` and `Conflict`. What a key without the right to
    read gets holds no content."""

    rights: ClassVar[Mapping[str, Right]] = MappingProxyType(
        {
            "PushTask": "write",
            "PopTask": "write",
            "BlockTask": "write",
            "ResumeTask": "write",
            "GetTaskPath": "read",
            "GetTask": "read",
            "ListTasks": "read",
            "SetCheckpoint": "write",
            "OpenBranch": "write",
            "SwitchBranch": "write",
            "InjectBranch": "write",
            "AbandonBranch": "write",
            "ListBranches": "read",
            "DelegateTask": "write",
            "FinishDelegation": "write",
            "ListDelegations": "read",
        }
    )

    def __init__(self, resolver: AgentResolver) -> None:
        self._resolver = resolver

    async def push_task(self, request: pb.PushTaskRequest, call: RpcCall) -> pb.PushTaskResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        made = await tasks.push(required("goal", request.goal), session=session, sensitivity=request.sensitivity or "private")
        return pb.PushTaskResponse(task=_frame(made, call))

    async def pop_task(self, request: pb.PopTaskRequest, call: RpcCall) -> pb.PopTaskResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        given: dict[str, Any] = {"status": request.status or "complete", "artifacts": _artifacts(request)}
        ended = await tasks.pop(required("result", request.result), session=session, **given)
        return pb.PopTaskResponse(task=_frame(ended, call))

    async def block_task(self, request: pb.BlockTaskRequest, call: RpcCall) -> pb.BlockTaskResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        blocked = await tasks.block(required("reason", request.reason), session=session)
        return pb.BlockTaskResponse(task=_frame(blocked, call))

    async def resume_task(self, request: pb.ResumeTaskRequest, call: RpcCall) -> pb.ResumeTaskResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        resumed = await tasks.resume(request.id or None, session=session)
        return pb.ResumeTaskResponse(task=_frame(resumed, call))

    async def get_task_path(self, request: pb.GetTaskPathRequest, call: RpcCall) -> pb.GetTaskPathResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        return pb.GetTaskPathResponse(tasks=map(frame, await tasks.path(session)))

    async def get_task(self, request: pb.GetTaskRequest, call: RpcCall) -> pb.GetTaskResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        return pb.GetTaskResponse(task=frame(await tasks.get(required("id", request.id))))

    async def list_tasks(self, request: pb.ListTasksRequest, call: RpcCall) -> pb.ListTasksResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        limit = limit_of("limit", request.limit, _LISTED)
        found = await tasks.list(request.session_id or None, status=request.status or None, limit=limit)
        return pb.ListTasksResponse(tasks=map(frame, found))

    async def set_checkpoint(self, request: pb.SetCheckpointRequest, call: RpcCall) -> pb.SetCheckpointResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        made = await tasks.checkpoint(required("name", request.name), session=session)
        return pb.SetCheckpointResponse(checkpoint=checkpoint(made))

    async def open_branch(self, request: pb.OpenBranchRequest, call: RpcCall) -> pb.OpenBranchResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        given = {"session": session, "checkpoint": request.checkpoint or None}
        begun = await tasks.branch(required("name", request.name), request.goal or None, **given)
        return pb.OpenBranchResponse(task=_frame(begun, call))

    async def switch_branch(self, request: pb.SwitchBranchRequest, call: RpcCall) -> pb.SwitchBranchResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        running = await tasks.switch(required("name", request.name), session=session)
        return pb.SwitchBranchResponse(branch=branch(running))

    async def inject_branch(self, request: pb.InjectBranchRequest, call: RpcCall) -> pb.InjectBranchResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        given: dict[str, Any] = {"session": session, "artifacts": _artifacts(request)}
        brought = await tasks.inject(required("name", request.name), request.result or None, **given)
        return pb.InjectBranchResponse(task=_frame(brought, call))

    async def abandon_branch(self, request: pb.AbandonBranchRequest, call: RpcCall) -> pb.AbandonBranchResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        ended = await tasks.abandon(required("name", request.name), session=session)
        return pb.AbandonBranchResponse(branch=branch(ended))

    async def list_branches(self, request: pb.ListBranchesRequest, call: RpcCall) -> pb.ListBranchesResponse:
        tasks = self._resolver.scoped(request.scope, call).tasks
        session = required("session_id", request.session_id)
        return pb.ListBranchesResponse(branches=map(branch, await tasks.branches(session)))

    async def delegate_task(self, request: pb.DelegateTaskRequest, call: RpcCall) -> pb.DelegateTaskResponse:
        """The answer holds what was found, so the key has to allow reading too."""
        agent = self._resolver.scoped(request.scope, call)
        if not may_read(call):
            raise denied()
        for name, value in (("max_tokens", request.max_tokens), ("deadline_ms", request.deadline_ms)):
            if value < 0:
                raise invalid(f"{name} must be 0 or more")
        check_size("messages", len(request.messages), MESSAGES)
        texts = JsonText()
        messages = await by_turns(request.messages, lambda one, index: message_dict(one, index, texts))
        given = await agent.delegate(
            required("task", request.task),
            request.mode or "brief",
            model=required("model", request.model),
            session=required("session_id", request.session_id),
            messages=messages or None,
            max_tokens=request.max_tokens or _BRIEF_TOKENS,
            provider=request.provider or None,
            filters=set_filters(request),
            scope=replace(agent.scope, user=None) if request.agent_wide else None,
            deadline=(request.deadline_ms or _MILLISECONDS) / 1000,
        )
        shown = [{"role": one.role, "content": one.content} if isinstance(one, Message) else one for one in given.messages]
        return pb.DelegateTaskResponse(
            task=frame(given.frame),
            messages_json=json.dumps(shown),
            system_json="" if given.system is None else json.dumps(given.system),
            tokens=given.tokens,
            explanation=wire_text(given.explain()),
        )

    async def finish_delegation(self, request: pb.FinishDelegationRequest, call: RpcCall) -> pb.FinishDelegationResponse:
        delegations = self._resolver.scoped(request.scope, call).delegations
        given: dict[str, Any] = {"status": request.status or "complete", "artifacts": _artifacts(request)}
        ended = await delegations.finish(required("id", request.id), required("result", request.result), **given)
        return pb.FinishDelegationResponse(task=_frame(ended, call))

    async def list_delegations(self, request: pb.ListDelegationsRequest, call: RpcCall) -> pb.ListDelegationsResponse:
        delegations = self._resolver.scoped(request.scope, call).delegations
        session, limit = required("session_id", request.session_id), limit_of("limit", request.limit, _LISTED)
        found = await delegations.list(session, open=request.open, limit=limit)
        return pb.ListDelegationsResponse(tasks=map(frame, found))


def _frame(stored: TaskFrame, call: RpcCall) -> pb.TaskFrame:
    return frame(stored, readable=may_read(call))


def _artifacts(request: Any) -> list[TaskArtifact]:
    check_size("artifacts", len(request.artifacts), LIST_ITEMS)
    return [TaskArtifact(id=one.id, title=one.title) for one in request.artifacts]


# Tasks, branches and checkpoints as wire messages.


def frame(stored: TaskFrame, *, readable: bool = True) -> pb.TaskFrame:
    """Returns a task; without goal, result, artifacts and provenance where the caller may not read."""
    return pb.TaskFrame(
        id=stored.id,
        session_id=wire_text(stored.session),
        goal=wire_text(stored.goal) if readable else "",
        parent=stored.parent or "",
        branch=wire_text(stored.branch),
        depth=stored.depth,
        status=stored.status,
        result=wire_text(stored.result) if readable and stored.result is not None else None,
        artifacts=[pb.TaskArtifact(id=wire_text(one.id), title=wire_text(one.title)) for one in stored.artifacts if readable],
        children=stored.children,
        user_id=stored.user or "",
        sensitivity=stored.sensitivity,
        provenance=provenance(stored.provenance) if readable else None,
        version=stored.version,
        delegated=stored.delegated or "",
        child_session_id=stored.child_session or "",
        delegation_depth=stored.delegation_depth,
        allowed=stored.allowed,
        created_at=stamp(stored.created_at),
        updated_at=stamp(stored.updated_at),
        closed_at=stamp(stored.closed_at),
        secrets=stored.secrets,
    )


def branch(stored: TaskBranch) -> pb.TaskBranch:
    return pb.TaskBranch(
        session_id=wire_text(stored.session),
        name=wire_text(stored.name),
        parent=wire_text(stored.parent or ""),
        base=stored.base or "",
        root=stored.root or "",
        current=stored.current or "",
        state=stored.state,
        forked_at=stamp(stored.forked_at),
        closed_at=stamp(stored.closed_at),
    )


def checkpoint(stored: TaskCheckpoint) -> pb.TaskCheckpoint:
    return pb.TaskCheckpoint(
        session_id=wire_text(stored.session),
        name=wire_text(stored.name),
        branch=wire_text(stored.branch),
        task_id=stored.frame or "",
        created_at=stamp(stored.created_at),
    )
