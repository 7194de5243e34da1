"""A copy of an answer is bounded, and decoded without becoming larger than its bound."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.service.proxy.answer_copy import AnswerCopy
from support.examples import examples

pytestmark = pytest.mark.requirement("PROXY-1")

SAID = 'data: {"a": "ä🦊"}\n\n'.encode() * 9
BARE = zlib.compressobj(wbits=-15)
ENCODED = {
    b"": SAID,
    b"identity": SAID,
    b"gzip": gzip.compress(SAID),
    b"X-GZIP": gzip.compress(SAID[:9]) + gzip.compress(SAID[9:]),
    b"deflate": zlib.compress(SAID),
    b" Deflate": BARE.compress(SAID) + BARE.flush(),
    b"gzip, deflate": zlib.compress(gzip.compress(SAID)),
}


def copied(body: bytes, encoding: bytes, limit: int = 10_000, size: int = 7) -> bytes | None:
    copy = AnswerCopy(limit)
    for start in range(0, len(body), size):
        copy(body[start : start + size])
    return copy.decoded([(b"X-A", b"1"), (b"content-Encoding", encoding)])


@pytest.mark.parametrize("encoding", ENCODED)
def test_an_answer_is_read_in_each_encoding_that_clients_ask_for(encoding: bytes) -> None:
    """Also a deflate without its header, gzip in members, and one encoding over the other."""
    assert copied(ENCODED[encoding], encoding) == SAID


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate"])
def test_of_a_stream_that_broke_off_as_much_is_read_as_came(encoding: bytes) -> None:
    """A provider flushes after each event."""
    stream = zlib.compressobj(wbits=31 if encoding == b"gzip" else 15)
    body = b"".join(stream.compress(part) + stream.flush(zlib.Z_SYNC_FLUSH) for part in (b"data: 1\n\n", b"data: 2\n\n"))
    assert copied(body, encoding) == b"data: 1\n\ndata: 2\n\n"


@pytest.mark.parametrize("encoding", [b"br", b"zstd", b"gzip, br", b"gzip", b"deflate"])
def test_what_cannot_be_decoded_is_none(encoding: bytes) -> None:
    """An encoding that isn't known, and bytes that aren't what they are said to be."""
    assert copied(b"no such thing", encoding) is None


def test_nothing_is_kept_of_an_answer_above_the_limit() -> None:
    """Nor is the end of one taken for the whole."""
    assert copied(b"x" * 100, b"", limit=100) == b"x" * 100
    assert copied(b"x" * 101, b"", limit=100) is None


@pytest.mark.parametrize("encoding", [b"gzip", b"deflate", b"gzip, gzip"])
def test_a_small_answer_that_becomes_a_large_one_is_none(encoding: bytes) -> None:
    """Of 20 MB no more than the limit is ever made."""
    body = zlib.compress(bytes(20_000_000)) if encoding == b"deflate" else gzip.compress(bytes(20_000_000))
    if encoding == b"gzip, gzip":
        body = gzip.compress(body)
    tracemalloc.start()
    assert copied(body, encoding, limit=200_000, size=1 << 20) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_many_members_are_read_in_one_pass() -> None:
    """Of 50,000 empty ones, each would copy the rest."""
    body = gzip.compress(b"") * 50_000 + gzip.compress(b"end")
    assert copied(body, b"gzip", limit=2_000_000, size=1 << 20) == b"end"


@given(st.binary(max_size=200), st.sampled_from([b"gzip", b"deflate", b"gzip,deflate", b""]))
@examples(400)
def test_any_bytes_are_decoded_or_none(body: bytes, encoding: bytes) -> None:
    """And never above the limit."""
    found = copied(body, encoding, limit=300)
    assert found is None or len(found) <= 300
