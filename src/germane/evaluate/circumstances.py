"""Circumstances: strategy, embedder and tokenizer of an evaluation, as germane itself names them, and the machine."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from germane.api.germane import Germane
from germane.evaluate.ask import Asker

__all__ = ["Circumstances", "machine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The fields of `Run` that are known only once a store is open."""

    strategy: str = ""
    embedder: str = ""
    tokenizer: str = ""
    warnings: tuple[str, ...] = ()

    @classmethod
    async def of(cls, germane: Germane, asker: Asker) -> Circumstances:
        """Reads them from an assembly for an agent without data."""
        asked = [{"role": "user", "content": "warming up"}]
        context = await germane.agent("nobody").assemble(asked, model=asker.model, deadline=None, strategy=asker.strategy)
        findings = {name: finding for name, finding, _ in (await germane.check()).findings}
        trace = context.trace
        return cls(
            strategy=trace.strategy, embedder=findings.get("vectors", ""), tokenizer=trace.tokenizer, warnings=trace.warnings
        )


def machine() -> str:
    """The system, its processors and the Python version."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
