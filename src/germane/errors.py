"""Errors: everything that germane raises, as one tree.

    GermaneError
    ├── InvalidInput          a value the caller passed can't be used; the message names it and says what to do
    │   ├── UnknownName       no strategy, provider, embedder or kind has this name
    │   └── Conflict          something else is stored under this id or label; nothing was written
    │       └── Stale         the content isn't what the caller has read: read it and decide again
    ├── NotPermitted          the permission of a block doesn't allow it
    ├── ConsentNeeded         a partner or a person has to agree to it first; nothing was written but the request
    ├── NotFound              no such thing within this scope (absent and forbidden look the same)
    ├── StoreError            the store can't do what was asked
    │   ├── StoreUnavailable  can't be opened, is closed, read-only, full or too busy to wait for
    │   ├── StoreCorrupt      the file is not a germane store, or it is damaged
    │   └── StoreTooNew       the file was written by a newer germane
    ├── EmbedderError         the embedder can't be loaded or did not answer with vectors
    ├── LLMError              the language model did not answer, or not with what was asked for
    └── MissingExtra          an optional dependency isn't installed; the message names the extra

Adapters turn the exceptions of libraries into these. `assemble` raises only `InvalidInput`: a fault of germane's own gives less
context, and the trace holds the reason. No error message contains stored content.

A value that an error shows is never written into its text: the text has `{}` in its place, and the value is passed beside it.
`str(error)` shows it, shortened; a service, whose texts hold no content, leaves it out (`GermaneError.said`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

_MAX_QUOTED = 40
"""Characters of a value that an error shows."""


class Phrase(str):
    """A piece of a sentence that holds values, such as a list of names: shown as it is, and by services not at all."""

    __slots__ = ()


def quoted(value: object) -> str:
    """Returns `value` as text for an error message: itself where it is small and simple, else its type. Never raises."""
    match value:
        case None | bool() | float():
            return repr(value)
        case int() if value.bit_length() <= 64:
            return repr(value)
        case int():
            return f"a whole number of {value.bit_length():,} bits"
        case Phrase():
            return str(value)
        case str() if len(value) <= _MAX_QUOTED:
            return repr(value)
        case str():
            return f"{value[:_MAX_QUOTED]!r}… ({len(value):,} characters)"
    return type(value).__name__


class GermaneError(Exception):
    """The root of the tree. Catching it catches everything that germane raises on purpose.

    `problem` says what is wrong, with `{}` in the place of each of the `shown` values: those of the caller, and stored ones."""

    def __init__(self, problem: str = "", *shown: object) -> None:
        self.problem, self.shown = problem, shown
        super().__init__(self.said())

    def said(self, show: Callable[[object], str] = quoted) -> str:
        """Returns the whole text, in which `show` writes each of the `shown` values."""
        return _filled(self._sentence(), self.shown, show)

    def _sentence(self) -> str:
        return self.problem


class InvalidInput(GermaneError, ValueError):
    """A value the caller passed can't be used.

    `path` is the argument's place as the caller of the library names it (`messages[3].role`), empty where the problem isn't one
    argument's; `advice` says what to do, where that isn't plain. The text is "`path` `problem`: `advice`"."""

    def __init__(self, problem: str = "", *shown: object, path: str = "", advice: str = "") -> None:
        self.path, self.advice = path, advice
        self._whole = False
        """Whether the problem is a sentence of its own, which a colon parts from the path."""
        super().__init__(problem, *shown)

    def within(self, place: str, *shown: object) -> Self:
        """Returns the same error of a value that stands at `place` in a larger one. `shown` are the values of `place`."""
        path = place if not self.path else f"{place}{self.path}" if self.path.startswith("[") else f"{place}.{self.path}"
        return self._at(path, *shown, whole=not self.path)

    def under(self, thing: str, *shown: object) -> Self:
        """Returns the same error as a sentence about `thing`, such as a strategy, which is no argument's place. `shown` are the
        values of `thing`."""
        return type(self)(f"{thing}: {self._begun()}", *shown, *self.shown, advice=self.advice)

    def advised(self, show: Callable[[object], str] = quoted) -> str:
        """Returns the advice, in which `show` writes those of the `shown` values that belong to it."""
        before = (self.path + self.problem).count("{}")
        return _filled(self.advice, self.shown[before:], show)

    def placed(self, show: Callable[[object], str] = quoted) -> str:
        """Returns the path, in which `show` writes those of the `shown` values that belong to it."""
        return _filled(self.path, self.shown[: self.path.count("{}")], show)

    def renamed(self, names: Callable[[str], str]) -> Self:
        """Returns the same error under the path that `names` makes of this one: that of a surface with names of its own."""
        return self._at(names(self.path))

    def _at(self, path: str, *shown: object, whole: bool = False) -> Self:
        made = type(self)(self.problem, *shown, *self.shown, path=path, advice=self.advice)
        made._whole = self._whole or whole
        made.args = (made.said(),)
        return made

    def _begun(self) -> str:
        return f"{self.path}{':' if self._whole else ''} {self.problem}" if self.path else self.problem

    def _sentence(self) -> str:
        return f"{self._begun()}: {self.advice}" if self.advice else self._begun()


class UnknownName(InvalidInput):
    """Nothing is registered under this name."""


class Conflict(InvalidInput):
    """Something else is stored under this id or label; nothing was written."""


class Stale(Conflict):
    """The content isn't what the caller has read: it was changed since, and nothing was written."""


class NotPermitted(GermaneError, PermissionError):
    """The permission of a block doesn't allow the operation; nothing was written."""


class ConsentNeeded(GermaneError):
    """An edit that needs the consent of a `partner` or a `human`. The request with the id `request` was stored, and nothing
    else: the edit can be tried again once somebody has approved it."""

    def __init__(self, problem: str, *shown: object, request: str, asked_of: str) -> None:
        super().__init__(problem, *shown)
        self.request, self.asked_of = request, asked_of


class NotFound(GermaneError, LookupError):
    """The scope holds nothing with this id."""


class StoreError(GermaneError):
    """The store can't do what was asked."""


class StoreUnavailable(StoreError):
    """The store can't be opened, is closed, read-only, full, or too busy to wait for."""


class StoreCorrupt(StoreError):
    """The file is not a germane store, or it is damaged."""


class StoreTooNew(StoreError):
    """The file was written by a newer germane than this one."""


class EmbedderError(GermaneError):
    """The embedder can't be loaded, or its result isn't vectors of its dimension."""


class LLMError(GermaneError):
    """The language model can't be reached, refuses, or answers with something else than what was asked for. `of_endpoint` says
    that any request would fail now, such as for a wrong key or no connection; else this one did. `status` is the HTTP status of
    the answer, if there was one. Tokens are what the failed answer cost, where the endpoint told it."""

    def __init__(
        self, message: str, *, of_endpoint: bool = False, status: int | None = None, spent: tuple[int, int] = (0, 0)
    ) -> None:
        super().__init__(message)
        self.of_endpoint, self.status, self.spent = of_endpoint, status, spent


class MissingExtra(GermaneError, ImportError):
    """An optional dependency isn't installed."""

    def __init__(self, extra: str, package: str) -> None:
        super().__init__(f"{package} isn't installed: run  pip install 'germane[{extra}]'")
        self.extra = extra


def _filled(text: str, shown: tuple[object, ...], show: Callable[[object], str]) -> str:
    """Returns `text` with the values in the places of its `{}`."""
    if not shown:
        return text
    first, *others = text.split("{}", len(shown))
    return first + "".join(f"{show(value)}{piece}" for value, piece in zip(shown, others, strict=False))


PROPAGATED: tuple[type[BaseException], ...] = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""Exceptions that leave an assembly. Every other one ends in a fallback, also those that aren't an `Exception` (a panic of a
compiled library)."""
