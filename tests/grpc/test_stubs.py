"""The stubs are what the protos say, the protos what was released, and the two contracts agree in their numbers."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

from germane.grpc.stubs import (
    context_pb2,
    filters_pb2,
    ibex_pb2,
    memory_pb2,
    operation_pb2,
)

PROTO = Path(__file__).parents[2] / "proto"
STUBS = {
    "germane/context/v1/context.proto": context_pb2,
    "germane/context/v1/filters.proto": filters_pb2,
    "germane/context/v1/memory.proto": memory_pb2,
    "germane/context/v1/operation.proto": operation_pb2,
    "ibex/context/v1/context.proto": ibex_pb2,
}


@pytest.mark.requirement("RPC-1")
@pytest.mark.parametrize("name", STUBS)
def test_a_stub_is_what_its_proto_says(name: str, tmp_path: Path) -> None:
    """A proto that was changed without `make proto` fails here."""
    out = tmp_path / "set"
    include = [f"-I{PROTO}", f"-I{files('grpc_tools') / '_proto'}"]
    assert protoc.main(["protoc", *include, f"--descriptor_set_out={out}", str(PROTO / name)]) == 0
    (said,) = FileDescriptorSet.FromString(out.read_bytes()).file
    held = FileDescriptorProto()
    STUBS[name].DESCRIPTOR.CopyToProto(held)
    for one in (said, held):
        for message in one.message_type:
            for inner in (message, *message.nested_type):  # a map has an entry type
                for field in inner.field:
                    field.ClearField("json_name")
    assert held == said


@pytest.mark.requirement("RPC-2")
@pytest.mark.parametrize("arguments", [["lint"], ["breaking", "--against", "image.binpb"]])
def test_the_protos_are_tidy_and_break_nobody(arguments: list[str]) -> None:
    """buf's own rules, and the image of what was released."""
    buf = Path(sys.executable).parent / "buf"
    if not buf.exists():
        pytest.skip("buf isn't installed: pip install buf-bin")
    run = subprocess.run([buf, *arguments], cwd=PROTO, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.requirement("RPC-1")
@pytest.mark.parametrize("name", ["AssembleContextRequest", "AssembleContextResponse", "Message", "InjectionMetadata"])
def test_what_both_contracts_have_has_one_number_and_one_type(name: str) -> None:
    """So a message of one contract can be read as one of the other."""
    older: Descriptor = ibex_pb2.DESCRIPTOR.message_types_by_name[name]
    newer: Descriptor = context_pb2.DESCRIPTOR.message_types_by_name[name]
    for field in older.fields:
        same = newer.fields_by_name[field.name]
        assert (field.number, field.type, field.is_repeated) == (same.number, same.type, same.is_repeated)
