"""Keys without TLS: the client sends them to this machine, and to others only with `plaintext`."""

from __future__ import annotations

import pytest

from germane.errors import InvalidInput
from germane.grpc.blocking import Client as Blocking
from germane.grpc.client import Client
from germane.grpc.client.channel import local

pytestmark = pytest.mark.requirement("RPC-5")

HERE = [
    *("127.0.0.1:7411", "127.9.9.9:1", "localhost:7411", "LOCALHOST", "[::1]:7411", "::1"),
    *("dns:localhost:7411", "dns:///localhost:7411", "passthrough:///127.0.0.1:7411", "unix:/run/germane", "unix-abstract:x"),
    *("ipv4:127.0.0.1:7411", "ipv4:127.0.0.1:7411,127.0.0.2:7411", "ipv6:[::1]:7411"),
]
ELSEWHERE = [
    *(
        "10.0.0.7:7411",
        "germane.internal:7411",
        "localhost.example:7411",
        "0.0.0.0:7411",
        "[::]:7411",
        "[::ffff:10.0.0.1]:7411",
    ),
    *("dns:///germane.internal:7411", "dns://10.0.0.7/localhost:7411", "ipv4:127.0.0.1:7411,10.0.0.7:7411", "xds:///germane"),
    *("passthrough:///10.0.0.7:7411", "ipv6:[2001:db8::1]:7411", "[::1]x:7411", "vsock:2:7411", "127.0.0.1@10.0.0.7:7411"),
]


@pytest.mark.parametrize("target", HERE)
def test_a_key_goes_to_this_machine_as_it_is(target: str) -> None:
    """By any of its names."""
    assert local(target)
    Client(target, key="gk_x")


@pytest.mark.parametrize("target", ELSEWHERE)
@pytest.mark.parametrize("kind", [Client, Blocking])
def test_a_key_goes_elsewhere_over_tls_or_when_that_is_asked_for(kind: type[Client] | type[Blocking], target: str) -> None:
    """Without either it isn't sent; without a key there is nothing to lose."""
    with pytest.raises(InvalidInput, match="isn't this machine, and without TLS the key could be read") as refused:
        kind(target, key="gk_secret")
    assert "secret" not in str(refused.value)
    kind(target, key="gk_x", plaintext=True)
    kind(target, key="gk_x", tls=True)
    kind(target)
