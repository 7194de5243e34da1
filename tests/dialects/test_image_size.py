"""Pictures' sizes, from their headers."""

from __future__ import annotations

import base64

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from germane.dialects.media import data_url, image_size

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big") + b"\x08\x06\x00\x00\x00"
GIF = b"GIF89a" + (320).to_bytes(2, "little") + (200).to_bytes(2, "little") + b"\xf7\x00\x00"
SOF = b"\xff\xc2\x00\x11\x08" + (768).to_bytes(2, "big") + (1024).to_bytes(2, "big") + b"\x03" + bytes(9)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(9) + b"\xff\xff" + SOF[1:]
VP8X = b"RIFF\x00\x00\x00\x00WEBPVP8X\n\x00\x00\x00\x00\x00\x00\x00" + (799).to_bytes(3, "little") + (599).to_bytes(3, "little")
VP8L = b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f" + (99 | 49 << 14).to_bytes(4, "little") + bytes(8)
VP8 = b"RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a" + b"\x40\x01\xf0\x00" + bytes(4)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (640, 480)),
        (GIF, (320, 200)),
        (JPEG, (1024, 768)),
        (VP8X, (800, 600)),
        (VP8L, (100, 50)),
        (VP8, (320, 240)),
    ],
    ids=["png", "gif", "jpeg", "webp-extended", "webp-lossless", "webp-lossy"],
)
def test_the_header_tells_the_size(data: bytes, size: tuple[int, int]) -> None:
    """The same from bytes, from base64 and from base64 broken into lines."""
    text = base64.b64encode(data + bytes(5000)).decode()
    assert (
        image_size(data) == image_size(text) == image_size("\n".join(text[i : i + 76] for i in range(0, len(text), 76))) == size
    )


def test_a_jpeg_frame_is_found_behind_long_metadata() -> None:
    """Cameras put a thumbnail of many kilobytes before the frame."""
    exif = b"\xff\xe1\xff\xfe" + bytes(0xFFFC)
    assert image_size(base64.b64encode(b"\xff\xd8" + exif + exif + SOF + bytes(9)).decode()) == (1024, 768)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.one_of(
        st.text(),
        st.binary(),
        st.binary().map(lambda tail: b"\xff\xd8\xff" + tail),
        st.binary().map(lambda tail: PNG[:9] + tail),
    )
)
def test_what_is_no_picture_has_no_size(data: str | bytes) -> None:
    """Any bytes, any text: a size or None, never an error."""
    size = image_size(data)
    assert size is None or min(size) > 0


def test_a_data_url_is_taken_apart() -> None:
    """Media type and data; None for what isn't base64 or no data URL."""
    assert data_url("data:image/PNG;charset=x;base64,AAAA") == ("image/png", "AAAA")
    assert data_url("data:,plain") is data_url("https://x.test/a.png") is data_url("data:image/png;base64") is None
