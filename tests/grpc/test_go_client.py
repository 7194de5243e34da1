"""The Go client: its stubs are those of the contract, and its own tests pass against a real service."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet

from support.golang import STUBS, go_checks, usable

pytestmark = pytest.mark.requirement("HTTP-2")
_CONTRACT = FileDescriptorSet.FromString((files("germane.grpc") / "contract.binpb").read_bytes())
_OWN = [file for file in _CONTRACT.file if file.package == "germane.context.v1"]


def _plain(file: FileDescriptorProto) -> FileDescriptorProto:
    """Without what differs by the maker: JSON names and the options of a language."""

    def without_names(message: DescriptorProto) -> None:
        for field in message.field:
            field.ClearField("json_name")
        for inner in message.nested_type:
            without_names(inner)

    plain = FileDescriptorProto.FromString(file.SerializeToString())
    plain.ClearField("options")
    for message in plain.message_type:
        without_names(message)
    return plain


@pytest.mark.parametrize("file", _OWN, ids=lambda file: Path(file.name).stem)
def test_the_stubs_describe_the_contract(file: FileDescriptorProto) -> None:
    """A changed proto fails here until they are made again."""
    stub = (STUBS / f"{Path(file.name).stem}.pb.go").read_text("utf-8")
    described = re.search(r"_rawDesc = \[\]byte\{([^}]*)\}", stub)
    assert described is not None
    held = FileDescriptorProto.FromString(bytes(int(byte, 16) for byte in re.findall(r"0x[0-9a-f]{2}", described[1])))
    assert _plain(held) == _plain(file), "run: PYTHONPATH=tests python -m support.golang stubs"


@pytest.mark.requirement("RPC-3")
def test_the_client_works_against_a_real_service() -> None:
    """Vetted, with its own tests, faults included; and the program of its README runs."""
    if not usable():
        pytest.skip("Go with Debian's gRPC isn't installed: make go installs it as root")
    code, written = go_checks()
    assert code == 0, written[-6000:]
    assert re.search(r"^[1-4] (grpc_error:DEADLINE_EXCEEDED)?$", written, re.MULTILINE), written[-600:]
