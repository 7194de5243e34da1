"""Answer copy: what is read of an answer's bytes, in any encoding, and that no answer takes more memory than its bound."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.dialects.answer_copy import AnswerCopy, CopyRoom, decoded
from support.examples import examples

pytestmark = pytest.mark.requirement("PROXY-1")
SAID = {"role": "assistant", "content": "Grüße, 猫"}
LIMIT = 64 * 1024


def raw_deflate(body: bytes) -> bytes:
    made = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return made.compress(body) + made.flush()


def brotli_encode(body: bytes) -> bytes:
    made: bytes = pytest.importorskip("brotli").compress(body, quality=4)
    return made


def zstd_encode(body: bytes) -> bytes:
    made: bytes = pytest.importorskip("zstandard").compress(body)
    return made


CODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate ": raw_deflate,
    "br": brotli_encode,
    "zstd": zstd_encode,
}
each_coding = pytest.mark.parametrize("coding", CODINGS)


def copy_of(body: bytes, chunk: int = 7, limit: int = LIMIT, **headers: str) -> AnswerCopy:
    copy = AnswerCopy({name.replace("_", "-"): value for name, value in headers.items()}, limit=limit)
    for at in range(0, len(body), chunk):
        copy.keep(body[at : at + chunk])
    return copy


def chat(content: str = str(SAID["content"])) -> bytes:
    return json.dumps({"choices": [{"message": {**SAID, "content": content}}]}, ensure_ascii=False).encode()


def stream(*texts: str) -> bytes:
    return "".join(f'data: {{"choices":[{{"index":0,"delta":{{"content":"{one}"}}}}]}}\n\n' for one in texts).encode()


@each_coding
@pytest.mark.parametrize("header", ["{}", " {} ", "identity, {}"])
def test_an_answer_is_read_in_any_encoding(coding: str, header: str) -> None:
    """However it comes in pieces."""
    body = CODINGS[coding](chat())
    assert copy_of(body, content_encoding=header.format(coding.upper())).messages("openai") == [SAID]


def test_an_answer_is_read_as_it_came() -> None:
    """Without an encoding, or with several of them."""
    assert copy_of(chat()).messages("openai") == [SAID]
    assert copy_of(chat(), content_encoding="identity").messages("openai") == [SAID]
    assert copy_of(zlib.compress(gzip.compress(chat())), content_encoding="gzip, deflate").messages("openai") == [SAID]
    assert copy_of(b"").messages("openai") == []


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_of_a_stream_that_ends_early_the_words_that_came_are_read(coding: str) -> None:
    """Also in the middle of an encoded block."""
    made = zlib.compressobj(wbits=31 if coding == "gzip" else 15)
    pieces = [made.compress(stream(f"word{at} ")) + made.flush(zlib.Z_SYNC_FLUSH) for at in range(9)]
    for end in (sum(map(len, pieces[:5])), sum(map(len, pieces[:5])) + 9):
        copy = copy_of(b"".join(pieces)[:end], content_encoding=coding, content_type="text/event-stream; charset=utf-8")
        (message,) = copy.messages("openai")
        assert message["content"].startswith("word0 word1 word2 word3 word4")


@each_coding
def test_an_encoded_body_is_decoded_up_to_the_bound_and_no_further(coding: str) -> None:
    """A few thousand bytes would otherwise become gigabytes."""
    encode, name = CODINGS[coding], coding.strip()
    assert decoded(encode(b"a" * LIMIT), name, LIMIT) == b"a" * LIMIT
    assert decoded(encode(b"a" * (LIMIT + 1)), name, LIMIT) is None
    bomb = encode(bytes(64 * 2**20))
    assert len(bomb) < LIMIT * 4
    tracemalloc.start()
    assert decoded(bomb, name, LIMIT) is None
    assert copy_of(bomb, chunk=4096, limit=LIMIT * 4, content_encoding=name).messages("openai") == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 2**20


def test_a_bomb_within_a_bomb_is_stopped_too() -> None:
    """Each encoding is bounded, and so is their number."""
    bomb = gzip.compress(gzip.compress(bytes(64 * 2**20)))
    assert decoded(bomb, "gzip, gzip", LIMIT) is None
    assert decoded(gzip.compress(gzip.compress(Random(1).randbytes(2 * LIMIT))), "gzip, gzip", LIMIT) is None
    body = b"a"
    for _ in range(5):
        body = gzip.compress(body)
    assert decoded(body, ", ".join(["gzip"] * 5), LIMIT) is None


@pytest.mark.parametrize("coding", ["compress", "aws-chunked", "gzip;q=1", "x" * 100_000, "gzip," * 100_000, "\0"])
def test_an_encoding_that_isnt_known_leaves_nothing_to_read(coding: str) -> None:
    """No message is made of bytes that nobody can read."""
    assert copy_of(chat(), content_encoding=coding).messages("openai") == []


@each_coding
@given(st.integers(0, 2**32))
@examples(100)
def test_damaged_bytes_raise_nothing(coding: str, seed: int) -> None:
    """Whatever they are."""
    random = Random(seed)
    body = bytearray(CODINGS[coding](chat("word " * 50)))
    for _ in range(random.randint(1, 5)):
        body[random.randrange(len(body))] = random.randrange(256)
    cut = bytes(body[: random.randint(0, len(body))])
    for events in ("", "text/event-stream"):
        for one in (cut, random.randbytes(40)):
            copy_of(one, content_encoding=coding.strip(), content_type=events).messages("openai")


def test_an_answer_beyond_the_bound_is_not_kept() -> None:
    """Neither is one whose reading failed."""
    copy = copy_of(chat("a" * LIMIT))
    assert copy.broken
    assert copy.messages("openai") == []
    copy.keep(b"more")
    assert copy.messages("openai") == []
    failed = copy_of(chat())
    failed.broken = True
    assert failed.messages("openai") == []
    assert copy_of(chat(), limit=len(chat())).messages("openai") == [SAID]


def test_open_answers_share_a_room() -> None:
    """One for which there is none is broken, and holds nothing; an answer that has ended gives its room back."""
    room = CopyRoom(100)
    first, second, third = (AnswerCopy(room=room) for _ in range(3))
    first.keep(b"x" * 60)
    second.keep(b"x" * 30)
    second.keep(b"x" * 30)
    assert (first.broken, second.broken, room.left) == (False, True, 40)
    second.keep(b"x")
    third.keep(b"x" * 40)
    assert (third.broken, room.left) == (False, 0)
    for copy in (first, second, third, first):
        copy.release()
    assert room.left == 100


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40) | st.none()), max_size=60))
@examples(100)
def test_no_more_is_held_than_there_is_room_for(steps: list[tuple[int, int | None]]) -> None:
    """Whatever comes in which order; and all of it comes back."""
    room = CopyRoom(100)
    copies = [AnswerCopy(limit=70, room=room) for _ in range(4)]
    for which, size in steps:
        if size is None:
            copies[which].release()
            copies[which] = AnswerCopy(limit=70, room=room)
        else:
            copies[which].keep(b"x" * size)
        assert room.left == 100 - sum(copy.size for copy in copies if not copy.broken) >= 0
    for copy in copies:
        copy.release()
    assert room.left == 100
