"""Log lines: logs that write to memory, so that a test can read them line by line."""

from __future__ import annotations

import io
import json
from typing import Any

from germane.kinds.keys.value import pseudonym
from germane.service.logs import Logs

__all__ = ["Kept", "kept", "named"]


def named(id: str) -> str:
    return pseudonym(bytes(32), id)


class Kept:
    def __init__(self, **given: Any) -> None:
        self.stream = io.BytesIO()
        self.logs = Logs(self.stream, pseudonym=named, **given)

    def text(self) -> str:
        """The whole log. Closes it first, which waits for its writer."""
        self.logs.close()
        return self.stream.getvalue().decode()

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text().splitlines()]


def kept(**given: Any) -> Kept:
    return Kept(**given)
