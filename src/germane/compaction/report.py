"""Report: a compaction in figures, without anything that was said."""

from __future__ import annotations

from germane.compaction.compaction import Compaction
from germane.types.history_report import HistoryReport

__all__ = ["report_of"]


def report_of(made: Compaction, beside: int = 0) -> HistoryReport:
    """Returns the figures. `beside` are tokens of the request that the compaction wasn't told of."""
    trace = made.trace
    return HistoryReport(
        tokens_before=made.tokens_before + beside,
        tokens=made.tokens + beside,
        max_tokens=made.max_tokens + beside,
        fits=made.fits,
        masked=made.masked,
        summarised=made.summarised,
        dropped=made.dropped,
        quarantined=len(made.quarantined),
        moves=trace.moves,
        saved_tokens=trace.saved_tokens,
        cache_lost_tokens=trace.cache_lost_tokens,
        pays_after=trace.pays_after,
        cited=made.cited,
        reasons=trace.reasons,
    )
