"""Circumstances: strategy, embedder, tokenizer and price of an evaluation, as germane itself knows them, and the machine."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass

from germane.api.germane import Germane
from germane.catalog.prices import Price
from germane.evaluate.ask import Asker

__all__ = ["Circumstances", "machine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known only once a store is open."""

    strategy: str = ""
    embedder: str = ""
    tokenizer: str = ""
    warnings: tuple[str, ...] = ()
    price: Price | None = None
    """None where the price list and the settings have none for the model."""

    @classmethod
    async def of(cls, germane: Germane, asker: Asker) -> Circumstances:
        """Reads them from an assembly for an agent without data."""
        asked = [{"role": "user", "content": "warming up"}]
        context = await germane.agent("nobody").assemble(asked, model=asker.model, deadline=None, strategy=asker.strategy)
        findings = {name: finding for name, finding, _ in (await germane.check()).findings}
        trace = context.trace
        return cls(
            strategy=trace.strategy,
            embedder=findings.get("vectors", ""),
            tokenizer=trace.tokenizer,
            warnings=trace.warnings,
            price=germane.prices.find(asker.model),
        )


def machine() -> str:
    """The system, its processors and the Python version."""
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}"
