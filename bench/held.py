"""Held: the command, with a watch on how long one piece of work keeps the event loops or the interpreter's lock for itself.

`bench/neighbour.py` starts it as `python -m bench.held FILE serve …`. At its end it writes to FILE, as JSON, for the event
loops and for the lock each the longest piece since FILE's `.begin` was touched, and where it was seen: milliseconds of
processor time, since a busy machine makes waits longer but not the work. A piece of a loop is what its thread computes before
its next turn; a piece of the lock is what the process computes while another thread waits for the lock after a sleep of 1 ms.
Where several threads compute, that is more than one piece of theirs.
"""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["Watch", "main"]

_BEAT, _LOOK = 0.002, 0.001
_SEEN = 0.005
"""Seconds without a turn after which the watch looks at what is done."""
_FRAMES = 4


@dataclass(slots=True)
class _Loop:
    thread: int
    beat: float
    spent: float
    """Processor time of the thread at its last turn."""
    seen: str = ""


@dataclass(slots=True)
class Watch:
    """`longest` says for `loop` and `lock` how many seconds, and where."""

    longest: dict[str, tuple[float, str]] = field(default_factory=dict)
    _loops: dict[asyncio.AbstractEventLoop, _Loop] = field(default_factory=dict)

    def follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Called in the loop's thread, before it runs."""
        self._loops[loop] = _Loop(threading.get_ident(), time.perf_counter(), time.thread_time())
        loop.call_soon(self._turn, loop)

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        one, spent = self._loops[loop], time.thread_time()
        self._note("loop", spent - one.spent, one.seen)
        one.spent, one.beat, one.seen = spent, time.perf_counter(), ""
        loop.call_later(_BEAT, self._turn, loop)

    def look(self, begin: Path) -> None:
        """Looks for ever; the thread of the watch."""
        began = 0.0
        while True:
            if (touched := begin.stat().st_mtime if begin.exists() else 0.0) != began:
                began = touched
                self.longest.clear()
            waited, spent = time.perf_counter(), time.process_time()
            time.sleep(_LOOK)
            now, worked = time.perf_counter(), time.process_time() - spent
            if now - waited > _SEEN:
                self._note("lock", min(worked, now - waited), _others())
            for one in list(self._loops.values()):
                if now - one.beat > _SEEN and not one.seen:
                    one.seen = _place(sys._current_frames().get(one.thread))

    def _note(self, what: str, seconds: float, where: str) -> None:
        if seconds > self.longest.get(what, (0.0, ""))[0]:
            self.longest[what] = seconds, where


def _others() -> str:
    """Where the threads are that aren't waiting; one of them has held the lock."""
    mine = threading.get_ident()
    places = [_place(frame) for thread, frame in sys._current_frames().items() if thread != mine]
    return "; ".join(place for place in places if place and "threading.py" not in place and "selectors.py" not in place)


def _place(frame: FrameType | None) -> str:
    found = list[str]()
    while frame is not None and len(found) < _FRAMES:
        code = frame.f_code
        found.append(f"{code.co_filename.split('/germane/')[-1]}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return " < ".join(found)


def main(arguments: list[str]) -> None:
    figures, rest = Path(arguments[0]), arguments[1:]
    watch, run = Watch(), asyncio.BaseEventLoop.run_forever

    def run_forever(loop: Any) -> None:
        watch.follow(loop)
        run(loop)

    asyncio.BaseEventLoop.run_forever = run_forever  # type: ignore[method-assign, assignment]
    threading.Thread(target=watch.look, args=(figures.with_suffix(".begin"),), daemon=True).start()
    sys.argv = ["germane", *rest]
    try:
        runpy.run_module("germane.cli", run_name="__main__", alter_sys=True)
    finally:
        figures.write_text(json.dumps({what: [1000 * seconds, where] for what, (seconds, where) in watch.longest.items()}))


if __name__ == "__main__":
    main(sys.argv[1:])
