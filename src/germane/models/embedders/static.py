"""Static: an embedder that averages the static token vectors of wordllama; no network, tens of microseconds per text.

It was the default before `Distilled`, and needs the extra `wordllama`. The table of 32,000 × 256 numbers and its tokenizer are
files of the package `wordllama`, read here directly. The package itself is never imported, because its loader asks a hub for
files that its wheel already contains.

Two licences apply to the data: wordllama is MIT; its weights derive from the token embeddings of Llama 2, which are under the
Llama 2 Community License.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError, MissingExtra
from germane.models.embedders.tables import TableEmbedder
from germane.types.caches import FifoCache

if TYPE_CHECKING:
    import tokenizers


_DIMENSION = 256
_CACHED_PIECES, _MAX_PIECE_CHARS = 65_536, 24

_LONE_CHARACTERS = "\n\u0700-\u1fff\u2e80-\ud7ff\ue000-\ufffc\U00010000-\U0010ffff"
_PIECE = re.compile(f"▁++(?:[^▁{_LONE_CHARACTERS}]++)?|[^▁{_LONE_CHARACTERS}]++|[{_LONE_CHARACTERS}]")
"""Splits a text into pieces that BPE can encode one by one, with the same tokens as encoding the whole; pieces repeat, so their
tokens can be cached. In this vocabulary no token holds a space after another character, and no token joins a line break, an
Indic, Thai, CJK or astral character to another character, so no merge crosses the border of a piece."""

_WHOLE_WORD = re.compile(r"▁[^\W\d_]{3,}")


class Static(TableEmbedder["_Table"]):
    """Unit-length means of wordllama's `l2_supercat` token vectors, 256 dimensions. The table has 32 MB as float32 and is
    loaded in about 0.1 s. The token ids of at most 65,536 pieces of text are cached."""

    identity = f"static/l2_supercat/{_DIMENSION}"
    dimension = _DIMENSION

    def __init__(self) -> None:
        """Raises `MissingExtra` where the extra `wordllama` isn't installed."""
        for package in ("wordllama", "tokenizers"):
            if find_spec(package) is None:
                raise MissingExtra("wordllama", package)
        super().__init__()
        self._pieces: FifoCache[str, tuple[int, ...]] = FifoCache(_CACHED_PIECES)

    async def close(self) -> None:
        await super().close()
        self._pieces = FifoCache(_CACHED_PIECES)

    def _load(self) -> _Table:
        return _Table.load()

    def _add(self, table: _Table, text: str, vector: NDArray[np.float32], between: Callable[[], None]) -> None:
        ids: list[int] = []
        for piece in _PIECE.findall(_readable(text)):
            known = self._pieces.get(piece)
            if known is None:
                known = self._encoded(piece, table.bpe)
                between()
            ids += known
        if ids:  # summing text by text takes a fifth of the time of np.add.reduceat over the batch
            np.add.reduce(table.weights.take(ids, axis=0), axis=0, out=vector)

    def _whole_words(self, table: _Table) -> tuple[Sequence[str], NDArray[np.float32]]:
        tokens = (table.bpe.id_to_token(id) or "" for id in range(len(table.weights)))
        words = {token[1:]: id for id, token in enumerate(tokens) if _WHOLE_WORD.fullmatch(token)}
        return list(words), table.weights[list(words.values())]

    def _encoded(self, piece: str, bpe: tokenizers.models.BPE) -> tuple[int, ...]:
        try:
            tokens = bpe.tokenize(piece)
        except UnicodeEncodeError:  # a lone surrogate
            tokens = bpe.tokenize(piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        ids = tuple(token.id for token in tokens)
        if len(piece) <= _MAX_PIECE_CHARS:
            self._pieces.keep(piece, ids)
        return ids


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class _Table:
    weights: NDArray[np.float32]
    bpe: tokenizers.models.BPE

    @classmethod
    def load(cls) -> _Table:
        import tokenizers

        package = find_spec("wordllama")
        if package is None or not package.submodule_search_locations:
            raise MissingExtra("wordllama", "wordllama")
        folder = Path(next(iter(package.submodule_search_locations)))
        try:
            weights = _matrix((folder / "weights" / "l2_supercat_256.safetensors").read_bytes())
            text = (folder / "tokenizers" / "l2_supercat_tokenizer_config.json").read_text(encoding="utf-8")
            bpe = tokenizers.Tokenizer.from_str(text).model
        except EmbedderError:
            raise
        except Exception as error:  # the tokenizer's library raises bare Exception
            raise EmbedderError(f"the static vectors of wordllama can't be read from {folder}: {error}") from error
        return cls(weights=weights, bpe=bpe)


def _matrix(data: bytes) -> NDArray[np.float32]:
    """Reads the matrix `embedding.weight` of a safetensors file: 8 bytes of header length, a JSON header, the raw numbers."""
    (length,) = struct.unpack_from("<Q", data)
    entry = json.loads(data[8 : 8 + length])["embedding.weight"]
    rows, columns = entry["shape"]
    if entry["dtype"] != "F16" or columns != _DIMENSION:
        raise EmbedderError(
            f"wordllama's static vectors should be F16 of {_DIMENSION} columns, not {entry['dtype']} of {columns}"
        )
    begin = 8 + length + entry["data_offsets"][0]
    numbers = np.frombuffer(data, dtype="<f2", count=rows * columns, offset=begin)
    return numbers.astype(np.float32).reshape(rows, columns)


def _readable(text: str) -> str:
    return "▁" + text.replace(" ", "▁") if text and not text.isspace() else ""
