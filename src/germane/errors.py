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
"""

from __future__ import annotations

import asyncio


class GermaneError(Exception):
    """The root of the tree. Catching it catches everything that germane raises on purpose."""


class InvalidInput(GermaneError, ValueError):
    """A value the caller passed can't be used."""


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

    def __init__(self, message: str, *, request: str, asked_of: str) -> None:
        super().__init__(message)
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


PROPAGATED: tuple[type[BaseException], ...] = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)
"""Exceptions that leave an assembly. Every other one ends in a fallback, also those that aren't an `Exception` (a panic of a
compiled library)."""
