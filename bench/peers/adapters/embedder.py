"""Embedder: the one that all peers share: all-MiniLM-L6-v2 as int8 ONNX, text by text on one core, as germane runs it.

Three ways to a vector. Live is what is measured. Known texts are looked up in a file that grows, so that a corpus is embedded
once for all peers. Loading a hundred thousand made messages takes the sum of their words' vectors instead, as embedding them
would take an hour and teach nothing: what is asked of them is how fast they are searched, not whether they are found.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["DIMENSION", "Embedder", "Vector"]

DIMENSION = 384
_LONGEST = 256
_WORD = re.compile(r"[a-z]+")

Vector = NDArray[np.float32]


class Embedder:
    """`known` is a file of vectors by the digest of their text; with `summed`, a text that isn't in it is the sum of its
    words that are. Without either every text is embedded."""

    def __init__(self, model: Path, tokenizer: Path) -> None:
        self._files = model, tokenizer
        self._network: tuple[Any, Any] | None = None
        self._known: dict[bytes, Vector] = {}
        self._path: Path | None = None
        self._summed = False
        self._fresh = 0

    @property
    def live(self) -> bool:
        return self._path is None

    def use(self, path: Path | None, *, summed: bool = False) -> None:
        self.keep()
        self._path, self._summed, self._known, self._fresh = path, summed, {}, 0
        if path is not None and path.exists():
            with np.load(path) as kept:
                self._known = {bytes(digest): vector for digest, vector in zip(kept["digests"], kept["vectors"], strict=True)}

    def keep(self) -> None:
        """Write what was embedded since into the file."""
        if self._path is None or not self._fresh or self._summed:
            return
        digests = np.array([np.frombuffer(digest, np.uint8) for digest in self._known])
        made = self._path.with_suffix(".new.npz")
        np.savez(made, digests=digests, vectors=np.array(list(self._known.values()), np.float32))
        made.replace(self._path)
        self._fresh = 0

    def vector(self, text: str) -> Vector:
        """Unit length, float32, shape (384,)."""
        if self._path is None:
            return self._live(text)
        digest = _digest(text)
        found = self._known.get(digest)
        if found is None and self._summed:
            return self._sum(text)
        if found is None:
            found = self._known[digest] = self._live(text)
            self._fresh += 1
        return found

    def vectors(self, texts: list[str]) -> list[Vector]:
        return [self.vector(text) for text in texts]

    def lists(self, texts: list[str]) -> list[list[float]]:
        return [self.vector(text).tolist() for text in texts]

    def _sum(self, text: str) -> Vector:
        parts = [part for word in _WORD.findall(text.lower()) if (part := self._known.get(_digest(word))) is not None]
        total = np.sum(parts, axis=0, dtype=np.float32) if parts else np.ones(DIMENSION, np.float32)
        length = float(np.linalg.norm(total))
        return np.asarray(total / (length or 1.0), np.float32)

    def _live(self, text: str) -> Vector:
        tokenizer, session = self._network or self._load()
        tokens = np.array([tokenizer.encode(text).ids], np.int64)
        feeds = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        (states,) = session.run(["last_hidden_state"], feeds)
        mean = states[0].mean(axis=0, dtype=np.float32)
        return np.asarray(mean / np.linalg.norm(mean), np.float32)

    def _load(self) -> tuple[Any, Any]:
        import onnxruntime
        import tokenizers

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        model, tokens = self._files
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        tokenizer = tokenizers.Tokenizer.from_file(str(tokens))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_LONGEST)
        self._network = tokenizer, session
        return self._network


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
