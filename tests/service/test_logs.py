"""Logs: one line per request; no call, exception or other package can bring in content or keys."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import sys
import threading
import warnings
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from germane.service.logs import Logs, LogWriter, log_uncaught, route_stdlib_logging
from germane.service.observer import Observer
from germane.types.context import Metadata
from germane.types.trace import SourceReport
from germane_testing.time_warp import fixed
from support.log_lines import kept, named

pytestmark = pytest.mark.requirement("OPS-1")

CANARY = " ".join(["the", "vault", "opens", "with", "sesame"])
KEY = "gk_" + "abcdefgh234567" * 2 + "_" + "qrst" * 13


def test_a_request_is_one_line_that_says_how_it_went() -> None:
    """As JSON, with times in milliseconds and only the sources that had trouble."""
    seconds = iter([10.0, 10.0125])
    log = kept(clock=fixed(datetime(2026, 11, 22, 6, tzinfo=UTC)), fixed={"process": 7})
    reports = (SourceReport(name="messages", status="timeout"), SourceReport(name="memories", status="ok"))
    with Observer(log.logs, clock=lambda: next(seconds)).call("AssembleContext") as call:
        call.org, call.agent, call.request_id = "acme", "support", "r-1"
        call.metadata = Metadata(degradation_level=1, total_tokens_injected=812, memories_injected=3, sources=reports)
    assert log.lines() == [
        {
            "time": "2026-11-22T06:00:00.000+00:00",
            "process": 7,
            "method": "AssembleContext",
            "code": "OK",
            "milliseconds": 12.5,
            "request_id": "r-1",
            "org": named("acme"),
            "agent": named("support"),
            "degradation_level": 1,
            "tokens": 812,
            "memories": 3,
            "sources": {"messages": "timeout"},
            "level": "info",
            "event": "request",
        }
    ]


def test_a_call_that_failed_says_what_and_where() -> None:
    """As a warning; what was raised goes on to the surface."""
    log = kept()
    with pytest.raises(ValueError, match="sesame"), Observer(log.logs).call("Remember"):
        raise ValueError(CANARY)
    (line,) = log.lines()
    assert (line["code"], line["error"], line["level"]) == ("UNKNOWN", "ValueError", "warning")
    assert line["at"].startswith("service/test_logs.py:")


async def test_on_an_event_loop_a_call_is_reported_in_the_next_turn() -> None:
    """The answer goes out first; the report has the time until the call's end, and its error."""
    log, seconds = kept(), iter([1.0, 1.25])
    with pytest.raises(ValueError, match="sesame"), Observer(log.logs, clock=lambda: next(seconds)).call("Remember"):
        raise ValueError("sesame")
    assert log.logs._writer._queue.empty()
    await asyncio.sleep(0)
    [line] = log.lines()
    assert (line["method"], line["code"], line["milliseconds"]) == ("Remember", "UNKNOWN", 250)


def test_a_call_that_its_client_gave_up_is_no_fault() -> None:
    """Cancellation goes on, and is told as what it is."""
    log = kept()
    with pytest.raises(asyncio.CancelledError), Observer(log.logs).call("AssembleContext"):
        raise asyncio.CancelledError
    assert log.lines()[0]["code"] == "CANCELLED"


@pytest.mark.parametrize("format", ["json", "console"])
@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_no_log_call_lets_content_or_a_key_through(level: str, format: str) -> None:
    """As event, under any name, in any shape, alone or in an exception."""
    log = kept(level="debug", format=format)
    say = getattr(log.logs, level)
    for secret in (CANARY, KEY):
        say(secret)
        say(f"request {secret}")
        say("request", text=secret, messages=[{"content": secret}], key=secret, code=secret, address=secret, not_ready=[secret])
        say(
            "request",
            error=ValueError(secret),
            org=secret,
            agent=secret,
            sources={secret: secret},
            stack=[secret],
            **{secret: 1},
        )
        say("request", error=secret, exc_info=ValueError(secret), _record=secret, signal=secret, version=secret)
    said = log.text()
    assert len(said.splitlines()) == 10
    assert "sesame" not in said
    assert KEY not in said


def raised() -> BaseException:
    def inner(secret: str) -> None:
        raise RuntimeError(secret)

    try:
        inner(CANARY)
    except RuntimeError as error:
        error.add_note(CANARY)
        return error
    raise AssertionError


def test_what_other_packages_log_comes_without_what_they_filled_in() -> None:
    """Nor texts that were put together before: only what stands in their code."""
    log = kept(level="debug")
    other = logging.getLogger("grpc.aio")
    with route_stdlib_logging(log.logs):
        other.error("Unexpected %s in a handler", CANARY)
        other.error(f"Unexpected {CANARY}")
        other.error(CANARY, exc_info=raised(), extra={"body": CANARY}, stack_info=True)
        other.error("one %d too many", CANARY)
        other.warning("%(secret)s", {"secret": CANARY})
        logging.getLogger("uvicorn.error").info("Shutting down")
        logging.getLogger("asyncio").debug("not worth it")
        warnings.showwarning(CANARY, UserWarning, "there.py", 1)
    lines = log.lines()
    assert [line.get("text") for line in lines] == [
        *("Unexpected %s in a handler", None, None, "one %d too many", "%(secret)s", "Shutting down", None)
    ]
    assert lines[2]["error"] == "RuntimeError"
    assert lines[5]["logger"] == "uvicorn.error"
    assert "sesame" not in json.dumps(lines)


def test_what_nobody_caught_is_told_by_type_and_place(capfd: pytest.CaptureFixture[str]) -> None:
    """In a thread, in a task, in a destructor, at the very top: each would print what its exception says."""
    log, error = kept(), raised()

    async def forsaken() -> None:
        loop = asyncio.get_running_loop()
        log_uncaught(loop, log.logs)
        loop.call_exception_handler({"message": CANARY, "exception": error, "future": CANARY})

    with route_stdlib_logging(log.logs):
        thread = threading.Thread(target=lambda: (_ for _ in ()).throw(error))
        thread.start()
        thread.join()
        asyncio.run(forsaken())
        sys.excepthook(type(error), error, error.__traceback__)
        sys.unraisablehook(SimpleNamespace(exc_value=error, err_msg=CANARY, object=CANARY))
    lines = log.lines()
    assert [(line["event"], line["error"]) for line in lines] == [("uncaught", "RuntimeError")] * 4
    assert "sesame" not in json.dumps(lines)
    assert "sesame" not in "".join(capfd.readouterr())


def test_what_others_say_in_passing_is_for_debugging() -> None:
    """A server's word at each start and end isn't worth a line."""
    log = kept()
    with route_stdlib_logging(log.logs):
        logging.getLogger("uvicorn.error").info("Shutting down")
        logging.getLogger("uvicorn.error").warning("Too late")
    assert [line["text"] for line in log.lines()] == ["Too late"]


def test_afterwards_all_logging_is_as_before() -> None:
    """The routing is the service's own, and ends with it."""

    def now() -> tuple[Any, ...]:
        root = logging.getLogger()
        return root.handlers[:], root.level, sys.excepthook, threading.excepthook, sys.unraisablehook

    before = now()
    log = kept()
    with route_stdlib_logging(log.logs):
        assert now() != before
    assert now() == before
    log.logs.close()


def test_below_its_level_nothing_is_written() -> None:
    """`level` is the lowest level that is written."""
    log = kept(level="warning")
    log.logs.info("started")
    log.logs.warning("not_ready", not_ready=["loop_lag"])
    assert [line["event"] for line in log.lines()] == ["not_ready"]


def test_for_people_a_line_is_text() -> None:
    """The same fields, behind one another."""
    log = kept(format="console", clock=fixed(datetime(2026, 11, 22, 6, tzinfo=UTC)))
    log.logs.info("listening", address="127.0.0.1:7411")
    assert log.text() == "2026-11-22T06:00:00.000+00:00 [info     ] listening                      address=127.0.0.1:7411\n"


class Broken:
    """Anything that one asks of it fails."""

    def __getattr__(self, name: str) -> Any:
        raise OSError(name)


def test_observing_never_fails_what_is_observed() -> None:
    """With logs, metrics and traces all broken a call is answered, and its own exception is the one that goes on."""
    broken: Any = Broken()
    observer = Observer(broken, metrics=broken, traces=broken)
    with observer.call("AssembleContext") as call:
        call.metadata = Metadata()
    with pytest.raises(ValueError, match="its own"), observer.call("Remember"):
        raise ValueError("its own")


class Stuck(io.BytesIO):
    """A stream whose writes block until `go` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def write(self, text: Any) -> int:
        self.begun.set()
        self.go.wait(30)
        return super().write(text)


def test_a_reader_that_does_not_read_costs_lines_and_no_time() -> None:
    """What is lost is counted and told."""
    stream = Stuck()
    lines = LogWriter(stream, max_waiting=2, lost_line=lambda count: b"lost %d" % count)
    lines.write(b"first")
    assert stream.begun.wait(30)

    def call() -> None:
        for text in (b"second", b"third", b"fourth", b"fifth"):
            lines.write(text)

    caller = threading.Thread(target=call)
    caller.start()
    caller.join(10)
    waits = caller.is_alive()
    stream.go.set()
    caller.join()
    assert not waits
    lines.close(30)
    assert stream.getvalue() == b"first\nlost 2\nsecond\nthird\n"


def test_a_reader_that_is_gone_stops_nobody() -> None:
    """A closed pipe is no reason to end."""
    stream = io.BytesIO()
    log = Logs(stream, pseudonym=named)
    stream.close()
    log.info("started")
    log.close()
