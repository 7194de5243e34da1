"""Extraction figures: what the state and `germane doctor` say about the extraction with a language model; no content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from germane.memories.llm_extraction.queue import QueueReport

if TYPE_CHECKING:
    from germane.api.extraction_worker import ExtractionWorker

__all__ = ["extraction_findings", "extraction_state"]

_REASONS = 3
"""Reasons that `germane doctor` shows."""


def extraction_state(worker: ExtractionWorker) -> dict[str, Any]:
    """Returns the fields of `State` that a worker knows."""
    total, report, budget = worker.total, worker.report, worker.budget
    return {
        "llm_fault": total.stopped,
        "llm_calls": budget.calls,
        "llm_input_tokens": budget.input_tokens,
        "llm_output_tokens": budget.output_tokens,
        "llm_usage": report.usage,
        "extraction_waiting": report.waiting,
        "extraction_parked": report.parked,
        "extracted_memories": total.memories,
    }


def extraction_findings(report: QueueReport, worker: ExtractionWorker | None) -> tuple[tuple[str, str, bool], ...]:
    """Returns what `germane doctor` shows; nothing where no model is configured and nothing was ever parked or spent."""
    if worker is None and not (report.waiting or report.parked or report.usage):
        return ()
    calls = sum(used.calls for used in report.usage)
    said = f"{'no LLM' if worker is None else worker.llm.name}, {report.waiting} runs of messages waiting"
    said += f", {calls} calls and {report.tokens:,} tokens today"
    findings = [("extraction", said, True)]
    if worker is not None and worker.total.stopped:
        findings.append(("extraction waits", worker.total.stopped, False))
    if report.parked:
        reasons = "; ".join(f"{count} × {reason}" for reason, count in report.reasons[:_REASONS])
        findings.append(("extraction parked", f"{report.parked} runs: {reasons} (germane extract tries again)", False))
    return tuple(findings)
