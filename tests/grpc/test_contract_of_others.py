"""A client that knows only the other contract's names and numbers: built here, run in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from grpc_tools import protoc

from support.listening import listening, opened

PROTO = """
syntax = "proto3";
package ibex.context.v1;

service ContextAssemblyService { rpc AssembleContext(AssembleContextRequest) returns (AssembleContextResponse); }

message AssembleContextRequest {
  string org_id = 1;
  string agent_id = 2;
  string session_id = 3;
  string model = 4;
  string request_id = 5;
  repeated Message messages = 6;
}
message AssembleContextResponse {
  repeated Message messages = 1;
  InjectionMetadata metadata = 2;
}
message Message {
  string role = 1;
  string content = 2;
}
message InjectionMetadata {
  bool directive_injected = 1;
  int32 memories_injected = 2;
  int32 memories_available = 3;
  int32 total_tokens_injected = 4;
  int32 context_window_used = 5;
  bool was_truncated = 6;
  string fallback_reason = 7;
  repeated string memory_ids = 8;
}
"""

CALLER = """
import json, sys
import grpc
import gateway_pb2 as pb, gateway_pb2_grpc as services

assert not any(name.startswith("germane") for name in sys.modules)
with grpc.insecure_channel(sys.argv[1]) as channel:
    stub = services.ContextAssemblyServiceStub(channel)
    question = pb.Message(role="user", content="When does the warehouse open?")
    answer = stub.AssembleContext(
        pb.AssembleContextRequest(
            org_id="acme", agent_id="support", session_id="", model="gpt-4o", request_id="r1", messages=[question]
        )
    )
told = answer.metadata
print(json.dumps({
    "messages": [[one.role, one.content] for one in answer.messages],
    "ids": list(told.memory_ids),
    "directive": told.directive_injected,
    "reason": told.fallback_reason,
    "tokens": told.total_tokens_injected,
}))
"""


@pytest.mark.requirement("RPC-1")
async def test_a_client_of_the_other_contract_in_another_process_gets_enriched_messages(tmp_path: Path) -> None:
    """Its numbers are enough: nothing of germane is known to it."""
    (tmp_path / "gateway.proto").write_text(PROTO, "utf-8")
    (tmp_path / "caller.py").write_text(CALLER, "utf-8")
    include = [f"-I{tmp_path}", f"-I{files('grpc_tools') / '_proto'}"]
    made = [f"--{kind}={tmp_path}" for kind in ("python_out", "grpc_python_out")]
    assert protoc.main(["protoc", *include, *made, str(tmp_path / "gateway.proto")]) == 0
    async with opened(tmp_path) as germane, listening(germane) as wire:
        command = [sys.executable, "caller.py", f"127.0.0.1:{wire.server.address.port}"]
        run = await asyncio.to_thread(subprocess.run, command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        (memory,) = (await germane.agent("support", org="acme").memories.list()).memories
    answer = json.loads(run.stdout)
    assert answer["messages"][-1] == ["user", "When does the warehouse open?"]
    assert answer["messages"][0][0] == "system"
    assert "opens at seven" in answer["messages"][0][1]
    assert (answer["ids"], answer["directive"], answer["reason"]) == ([memory.id], True, "")
    assert answer["tokens"] > 0
