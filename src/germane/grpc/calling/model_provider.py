"""Model provider: the shape of a model's messages, where the caller names none: that of the model's own provider, as in the
library. The client has no catalog of models; the names of three families tell."""

from __future__ import annotations

from germane.types.model_names import ModelNames

__all__ = ["model_provider"]

_FAMILIES = ModelNames({"claude": "anthropic", "gemini": "gemini", "gemma": "gemini"})
"""The families of the catalog whose providers don't take OpenAI's messages; a test compares all names of the catalog."""


def model_provider(model: object, like: object = None) -> str:
    """Returns openai, anthropic or gemini; openai for a model of none of the families, and for what is no name. `like` is the
    model that `model` is treated like, where it isn't None."""
    named = model if like is None else like
    return (_FAMILIES.find(named) if isinstance(named, str) else None) or "openai"
