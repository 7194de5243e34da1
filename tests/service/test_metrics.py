"""Metrics: what they count, in a registry of their own, with a bounded number of label values."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families

from germane.engine.breakers import BreakerState
from germane.engine.engine import State
from germane.service.metrics import Metrics
from germane.service.observer import Observer
from germane.service.supervisor import join_folder, mark_process_dead, metrics_folder
from germane.types.context import Metadata
from germane.types.trace import SourceReport
from germane.types.traffic import Traffic
from support.log_lines import kept

pytestmark = pytest.mark.requirement("OPS-1")

FULL = Metadata(
    total_tokens_injected=800,
    timings=(("gather", 0.012), ("pack", 0.001)),
    sources=(
        SourceReport(name="messages", status="ok", latency=0.011, found=20),
        SourceReport(name="memories", status="timeout"),
        SourceReport(name="crm", status="skipped", reason="breaker"),
    ),
)


def samples(text: bytes | str) -> dict[tuple[str, ...], float]:
    """By name and the values of its labels, in the order of their names."""
    said = text if isinstance(text, str) else text.decode()
    return {
        (sample.name.removeprefix("germane_"), *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(said)
        for sample in family.samples
    }


def test_an_answer_is_counted_by_level_stage_and_source() -> None:
    """A source that didn't answer in time has a status and no time."""
    metrics = Metrics(version="0.1.0")
    metrics.call_started()
    metrics.call_ended("AssembleContext", "OK", 0.014, FULL)
    found = samples(metrics.text())
    assert found["request_seconds_count", "0", "AssembleContext"] == 1
    assert found["request_seconds_bucket", "0.015", "0", "AssembleContext"] == 1
    assert found["request_seconds_bucket", "0.01", "0", "AssembleContext"] == 0
    assert found["stage_seconds_sum", "gather"] == pytest.approx(0.012)
    assert found["source_seconds_count", "messages", "ok"] == 1
    assert ("source_seconds_count", "memories", "timeout") not in found
    assert found["source_missing_total", "memories", "timeout"] == 1
    assert found["answers_total", "0"] == 1
    assert found["injected_tokens_sum",] == 800
    assert found["in_flight",] == 0
    assert found["info", "0.1.0"] == 1


def test_a_refused_one_and_one_that_fell_back_are_told_apart() -> None:
    """By reason; an error's type stays out of the label."""
    metrics = Metrics()
    for reason in ("shed", "assembly_error:ValueError", "assembly_error:KeyError"):
        metrics.observe_assembly(Metadata(fallback_reason=reason, degradation_level=3))
    found = samples(metrics.text())
    assert found["shed_total",] == found["fallbacks_total", "shed"] == 1
    assert found["fallbacks_total", "assembly_error"] == 2
    assert found["answers_total", "3"] == 3


def test_what_germane_says_of_itself_is_taken_over() -> None:
    """Counts go on from where they were; a breaker is a number."""
    metrics = Metrics()
    open_one = BreakerState(source="messages", condition="open")
    metrics.refresh(
        state=State(breakers=(open_one,), abandoned=3, abandoned_total=9, cache_hits=5, cache_misses=7, waiting=4),
        lag_p99=0.002,
        ready=True,
    )
    metrics.refresh(
        state=State(
            breakers=(open_one,), abandoned=1, abandoned_total=9, cache_hits=6, cache_misses=7, waiting=2, refused_texts=3
        ),
        lag_p99=0.003,
        ready=False,
    )
    found = samples(metrics.text())
    assert found["breaker_state", "messages"] == 2
    assert (found["abandoned",], found["abandoned_tasks_total",]) == (1, 9)
    assert found["assemblies", "waiting"] == 2
    assert found["refused_texts",] == 3
    assert (found["result_cache_total", "hit"], found["result_cache_total", "miss"]) == (6, 7)
    assert (found["loop_lag_p99_seconds",], found["ready",]) == (0.003, 0)
    assert (found["resident_bytes",] > 1_000_000) is Path("/proc/self/statm").exists()


def test_assemblies_handed_over_are_counted_by_outcome() -> None:
    """From totals, of which only the growth is added."""
    metrics = Metrics()
    for answered in (4, 6):
        metrics.observe_traffic(Traffic(used={}, refused={}, handed_over={"answered": answered, "lost": 1}))
    found = samples(metrics.text())
    assert (found["handovers_total", "answered"], found["handovers_total", "lost"]) == (6, 1)


def test_no_label_grows_without_end() -> None:
    """Whatever names come, and no id of anybody's is one."""
    metrics = Metrics()
    for number in range(2000):
        metrics.observe_assembly(Metadata(sources=(SourceReport(name=f"source{number}", status="ok", latency=0.001),)))
    found = samples(metrics.text())
    assert len([key for key in found if key[0] == "source_seconds_count"]) <= 257
    assert found["source_seconds_count", "other", "other"] == 2000 - 256
    with Observer(kept().logs, metrics=metrics).call("AssembleContext") as call:
        call.org, call.agent, call.request_id = "acme", "support", "r-1"
    assert not any(id in metrics.text().decode() for id in ("acme", "support", "r-1"))


def test_the_registry_is_its_own() -> None:
    """The process's global one stays as it is, and two don't meet."""
    before = {metric.name for metric in REGISTRY.collect()}
    Metrics()
    Metrics()
    assert {metric.name for metric in REGISTRY.collect()} == before


WORKER = """
import os, sys
from pathlib import Path
from germane.service.supervisor import join_folder
join_folder(Path(sys.argv[1]))
from germane.types.context import Metadata
from germane.service.metrics import Metrics
metrics = Metrics(metrics_folder=Path(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    metrics.call_started()
    metrics.call_ended("AssembleContext", "OK", 0.004, Metadata(total_tokens_injected=100))
metrics.call_started()
metrics.refresh(state=None, lag_p99=float(sys.argv[3]), ready=sys.argv[3] < "0.5")
print(os.getpid(), flush=True)
sys.stdin.readline()
sys.stdout.buffer.write(metrics.text())
"""


def test_several_processes_are_told_as_one_whoever_is_asked() -> None:
    """Counts are added up, lag and readiness are the worst one's; of one that has ended its counts stay."""
    with ExitStack() as stack:
        shared = stack.enter_context(metrics_folder())
        numbers = [("3", "0.2"), ("4", "0.7")]
        command = [sys.executable, "-c", WORKER, str(shared)]
        one, other = (
            stack.enter_context(subprocess.Popen([*command, *given], stdin=PIPE, stdout=PIPE, text=True)) for given in numbers
        )
        assert one.stdout
        assert other.stdout
        ended = int(one.stdout.readline())
        other.stdout.readline()
        found = samples(one.communicate("\n")[0])
        assert found["request_seconds_count", "0", "AssembleContext"] == 7
        assert found["request_seconds_bucket", "0.005", "0", "AssembleContext"] == 7
        assert found["request_seconds_bucket", "0.002", "0", "AssembleContext"] == 0
        assert found["in_flight",] == 2
        assert (found["loop_lag_p99_seconds",], found["ready",]) == (0.7, 0)
        mark_process_dead(shared, ended)
        found = samples(other.communicate("\n")[0])
        assert found["request_seconds_count", "0", "AssembleContext"] == 7
        assert found["in_flight",] == 1
    assert not shared.exists()


def test_joining_too_late_is_said(tmp_path: Path) -> None:
    """Metrics that silently cover one process only would mislead."""
    with pytest.raises(RuntimeError, match="imported already"):
        join_folder(tmp_path)
    with pytest.raises(RuntimeError, match="join a folder before"):
        Metrics(metrics_folder=tmp_path)
