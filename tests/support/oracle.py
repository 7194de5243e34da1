"""Oracle: independent token counts, against which tests check germane's own.

It is another implementation of byte-level BPE (tiktoken) over vocabulary files of other packages, without network. Opening one
takes about a second, so each is opened once. It deliberately shares no code with germane.
"""

from __future__ import annotations

import base64
import gzip
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import tiktoken
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

__all__ = ["NAMES", "oracle"]

NAMES = ("o200k", "cl100k", "llama3", "qwen3")

_SPLIT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}DIGITS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


@cache
def oracle(name: str) -> Callable[[str], int]:
    """A function that counts tokens of the vocabulary `name`. Special tokens count as plain text, lone surrogates as U+FFFD."""
    encoding = _openai(name) if name in ("o200k", "cl100k") else _open_model(name)
    normal = name == "qwen3"

    def count(text: str) -> int:
        return len(encoding.encode_ordinary(unicodedata.normalize("NFC", text) if normal else text))

    return count


def _openai(name: str) -> tiktoken.Encoding:
    def load(*_: Any, **__: Any) -> dict[bytes, int]:
        packed = _file("bpe_openai", f"{name}_base.tiktoken.gz")
        pairs = (line.split() for line in gzip.decompress(packed).splitlines())
        return {base64.b64decode(token): int(rank) for token, rank in pairs}

    with patch.object(openai_public, "load_tiktoken_bpe", load):
        return tiktoken.Encoding(**getattr(openai_public, f"{name}_base")())


def _open_model(name: str) -> tiktoken.Encoding:
    """Reads a vocabulary file: the number of tokens (4 bytes), then length (2 bytes), token and rank (4 bytes) of each,
    little-endian."""
    data = _file("quicktok", f"{name}.vocab")
    ranks, start = dict[bytes, int](), 4
    for _ in range(int.from_bytes(data[:4], "little")):
        size = int.from_bytes(data[start : start + 2], "little")
        end = start + 2 + size
        ranks[data[start + 2 : end]] = int.from_bytes(data[end : end + 4], "little")
        start = end + 4
    split = _SPLIT.replace("DIGITS", "{1,3}" if name == "llama3" else "")
    return tiktoken.Encoding(name, pat_str=split, mergeable_ranks=ranks, special_tokens={})


def _file(package: str, name: str) -> bytes:
    """The content of a data file of `package`, without importing the package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise LookupError(f"{package} is not installed: the oracle reads its vocabulary")
    return (Path(spec.origin).parent / "data" / name).read_bytes()
