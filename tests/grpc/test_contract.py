"""The package has what the protos say, the protos what was released, and the two contracts agree in their numbers."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor
from grpc_tools import protoc

from germane.grpc import messages
from germane.grpc.messages import context_pb2, filters_pb2, ibex_pb2, memory_pb2
from support.source_tree import modules

ROOT = Path(__file__).parents[2]
PROTO = ROOT / "proto"


@pytest.mark.requirement("RPC-1")
def test_the_package_has_what_the_protos_say(tmp_path: Path) -> None:
    """A proto that was changed without `make proto` fails here."""
    subprocess.run([sys.executable, PROTO / "generate.py", tmp_path / "contract"], check=True)
    assert (ROOT / "src/germane/grpc/contract.binpb").read_bytes() == (tmp_path / "contract").read_bytes()


@pytest.mark.requirement("RPC-1")
def test_a_module_that_protoc_makes_can_be_loaded_beside_the_package(tmp_path: Path) -> None:
    """And its messages are of the same classes, because both describe the files in the same way."""
    include = [f"-I{PROTO}", f"-I{files('grpc_tools') / '_proto'}"]
    assert protoc.main(["protoc", *include, f"--python_out={tmp_path}", str(PROTO / "germane/context/v1/filters.proto")]) == 0
    made = tmp_path / "germane/context/v1/filters_pb2.py"
    loaded = runpy.run_path(str(made))
    assert loaded["DESCRIPTOR"] is filters_pb2.DESCRIPTOR
    assert loaded["Filters"] is filters_pb2.Filters


@pytest.mark.requirement("RPC-1")
def test_a_name_that_no_proto_declares_is_an_attribute_error() -> None:
    for name in ("NoSuchMessage", "MemoryService", "NoSuchStub", "Stub"):
        with pytest.raises(AttributeError, match=f"memory.proto declares no {name}"):
            getattr(memory_pb2, name)


@pytest.mark.requirement("RPC-1")
def test_every_name_that_the_package_takes_from_a_proto_is_declared_there() -> None:
    """Annotations included, which mypy can't check because the names are made at run time."""
    used = set()
    for module in modules():
        files = {
            alias.asname or alias.name: alias.name
            for node in module.nodes
            if isinstance(node, ast.ImportFrom) and node.module == "germane.grpc.messages"
            for alias in node.names
        }
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in files:
                used.add((files[node.value.id], node.attr))
    assert len(used) > 30
    assert [(file, name) for file, name in sorted(used) if not hasattr(getattr(messages, file), name)] == []


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
