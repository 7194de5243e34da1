"""Unknown model: the warning about a model that the catalog doesn't list, for the trace and, once a process, for the log."""

from __future__ import annotations

import logging
from contextlib import suppress

__all__ = ["log_once", "warning"]

_LOG = logging.getLogger("germane.catalog")
_LOGGED: set[str] = set()
"""The models that this process has logged."""
_MAX_LOGGED = 64


def warning(model: str, window: int) -> str:
    """Returns the sentence for the trace and the metadata. `window` is the one that is assumed (tokens)."""
    return (
        f"the catalog has no model {model!r}: a window of {window} tokens is assumed; "
        f"pass like= or window=, or add it to the settings under [models]"
    )


def log_once(model: str, window: int) -> None:
    """Logs the warning to `germane.catalog`, once a process and model, for at most 64 models: names come from callers. Never
    raises, whatever the application's log handlers do."""
    if model not in _LOGGED and len(_LOGGED) < _MAX_LOGGED:
        _LOGGED.add(model)
        with suppress(Exception):
            _LOG.warning("germane was asked for a model that it doesn't know (said once): %s", warning(model, window))
