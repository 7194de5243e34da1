"""open_embedder: opens an embedder by the name that settings and the command line use, and imports no other."""

from __future__ import annotations

from germane.embedders.distilled import Distilled
from germane.errors import InvalidInput, UnknownName
from germane.ports.embedder import Embedder

__all__ = ["open_embedder"]

_OPENAI_URL = "https://api.openai.com/v1"


def open_embedder(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    dimension: int | None = None,
    timeout: float = 30.0,
) -> Embedder:
    """Returns the embedder called `name`. The options apply to embedders behind a network and are ignored by the others;
    `timeout` is in seconds.

    Names are `distilled`, `minilm`, `static`, `openai:<model>` (at `base_url`, default OpenAI's own address), and the address
    of any compatible endpoint followed by `#` and the model, such as `http://localhost:11434/v1#nomic-embed-text`. Raises
    `UnknownName`, `InvalidInput` for an option that can't be used, and `MissingExtra` for a package that isn't installed.
    """
    if name == "distilled":
        return Distilled()
    if name == "static":
        from germane.embedders.static import Static

        return Static()
    if name == "minilm":
        from germane.embedders.minilm import MiniLM

        return MiniLM()
    if name.startswith("openai:"):
        address, model = base_url or _OPENAI_URL, name.removeprefix("openai:")
    elif name.startswith(("http://", "https://")):
        address, _, model = name.partition("#")
    else:
        raise UnknownName(
            f"no embedder is called {name!r}: take 'distilled', 'minilm', 'static', 'openai:<model>' or '<address>#<model>'"
        )
    if not model:
        raise InvalidInput(f"the embedder {name!r} names no model: write 'openai:<model>' or '<address>#<model>'")
    from germane.embedders.openai import OpenAICompatible

    return OpenAICompatible(address, model, api_key, dimension, timeout)
