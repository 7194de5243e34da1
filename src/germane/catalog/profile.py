"""Profile: the facts about a model that are needed to fit a context into it (BUD-1)."""

from __future__ import annotations

from dataclasses import dataclass, fields

from germane.catalog.figures import MEDIA, figures
from germane.catalog.images import price
from germane.errors import InvalidInput
from germane.types.message import Image

__all__ = ["Profile"]

_MINIMA = {"window": 1, "max_output": 0, "per_message": 0, "per_request": 0, "per_tool": 0, "per_tools": 0}
_PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Sizes are in tokens. `tokenizer` is a name for `open_tokenizer`; `images` is a rule of `images.py`; `safety` is the
    fraction of the window that is left free.

    `known` is false for a model that the catalog doesn't list: it has a window of 8,192 and the widest safety fraction.
    Raises `InvalidInput` naming the field that can't be used.
    """

    name: str
    provider: str
    """The dialect of its API: openai, openai-responses, anthropic or gemini."""
    window: int = 8192
    max_output: int = 4096
    tokenizer: str = "unknown"
    per_message: int = 4
    """Overhead of each message: role and separators."""
    per_request: int = 3
    per_tool: int = 8
    """Overhead of each tool, beside its JSON."""
    per_tools: int = 16
    """Overhead of a request that has tools."""
    images: str = "unknown"
    media: str = "page:1200 pdf:2400 audio:2000 video:17000"
    """What files cost, by `figures.py`."""
    own_tools: str = "web_search:600 computer:1200 *:400"
    """What the provider adds to the prompt for its own tools, by the beginning of their type."""
    safety: float = 0.10
    mid_system: bool = False
    """Whether an API that has its system prompt apart takes system messages in the middle of the conversation too."""
    preserved_thinking: bool = False
    """Whether the API refuses a block of thinking where anything before it differs from what was sent when it was made."""
    known: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value, kind = getattr(self, field.name), field.type
            if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
                object.__setattr__(self, field.name, float(value))
            elif type(value).__name__ != kind:
                self._refuse(field.name, f"must be of type {kind}, not {type(value).__name__}")
        for name, minimum in _MINIMA.items():
            if getattr(self, name) < minimum:
                self._refuse(name, f"must be {minimum} or more, not {getattr(self, name)}")
        if self.provider not in _PROVIDERS:
            self._refuse("provider", f"must be one of {', '.join(_PROVIDERS)}, not {self.provider!r}")
        if not 0 <= self.safety < 1:
            self._refuse("safety", f"must be a fraction from 0 to below 1, not {self.safety}")
        try:
            price(self.images, Image())
        except InvalidInput as error:
            self._refuse("images", f"is no image rule: {error}", error)
        for name in ("media", "own_tools"):
            try:
                named = figures(getattr(self, name))
            except InvalidInput as error:
                self._refuse(name, f"holds no figures: {error}", error)
            if name == "media" and not named.keys() >= {*MEDIA}:
                self._refuse(name, f"must name {', '.join(MEDIA)}")

    def binds_thinking(self, dialect: str) -> bool:
        """Whether thinking is refused where something before it has changed, in messages of this dialect. A model that the
        catalog doesn't list is taken to do so."""
        return dialect == "anthropic" and (self.preserved_thinking or not self.known)

    def _refuse(self, field: str, why: str, cause: Exception | None = None) -> None:
        raise InvalidInput(f"model {self.name!r}: {field} {why}") from cause
