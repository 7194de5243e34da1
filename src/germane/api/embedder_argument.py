"""Embedder argument: checks of `embedder`, `dimensions` and `embedder_model`, before anything is opened."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from germane.errors import EmbedderError, InvalidInput
from germane.ports.embedder import Embedder
from germane.types import limits

__all__ = ["EmbedderArgument", "check_embedder", "is_function"]

EmbedderArgument = str | Embedder | Callable[[list[str]], Any]
"""A name, an `Embedder`, or a function from a list of texts to their vectors, which may be a coroutine function."""

_MEMBERS = ("identity", "dimension", "quick", "embed", "embed_now", "close")


def check_embedder(embedder: Any, dimensions: Any, model: Any = None) -> None:
    """Raises `InvalidInput` that names what is missing or wrong. `model` is the caller's `embedder_model`."""
    if dimensions is not None and (isinstance(dimensions, bool) or not isinstance(dimensions, int) or dimensions < 1):
        raise InvalidInput(f"dimensions must be the length of the embedder's vectors, such as 384, not {dimensions!r}")
    if model is not None:
        limits.text("embedder_model", model, limits.NAME)
        if not model.strip() or not is_function(embedder):
            raise InvalidInput("embedder_model names the model of embedder=<function>: not empty, and only with a function")
    if embedder is None or isinstance(embedder, str):
        return
    if isinstance(embedder, type):
        raise InvalidInput(f"embedder must be an object, not the class {embedder.__name__}: write {embedder.__name__}(…)")
    if is_function(embedder):
        if dimensions is None:
            raise InvalidInput("embedder is a function: give the length of its vectors too, such as dimensions=384")
        nameless = "partial" if isinstance(embedder, partial) else "lambda"
        if model is None and (nameless == "partial" or getattr(embedder, "__name__", "") == "<lambda>"):
            raise InvalidInput(
                f"embedder is a {nameless}, which has no name that tells its vectors from those of another model:"
                " give embedder_model=, such as embedder_model='all-mpnet-base-v2'"
            )
        return
    missing = [name for name in _MEMBERS if not _has(embedder, name)]
    if len(missing) == len(_MEMBERS):
        raise InvalidInput(f"embedder must be a name, a function or an Embedder, not {type(embedder).__name__}")
    if missing:
        raise InvalidInput(
            f"embedder {type(embedder).__name__} lacks {', '.join(missing)}: an Embedder has {', '.join(_MEMBERS)};"
            " or pass a function from texts to vectors, with dimensions="
        )


def is_function(embedder: Any) -> bool:
    """Returns whether `embedder` is a function, or another callable without the members of an `Embedder`."""
    return callable(embedder) and not any(_has(embedder, name) for name in _MEMBERS)


def _has(embedder: Any, name: str) -> bool:
    try:
        return hasattr(embedder, name)
    except EmbedderError:  # an endpoint that hasn't answered yet doesn't know its dimension
        return True
