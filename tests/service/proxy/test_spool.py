"""Spool: what waits on disk survives its process, is bounded, and is never in the way (PROXY-1)."""

from __future__ import annotations

import errno
import logging
import os
import stat
from pathlib import Path

import pytest

from germane.service.proxy import spool as module
from germane.service.proxy.spool import Spool, SpoolEntry

pytestmark = pytest.mark.requirement("PROXY-1")
NOW = 1_700_000_000_000


def opened(folder: Path | None, **options: int) -> Spool:
    spool = Spool(folder, **options)
    assert spool.open(NOW) == ()
    return spool


def put(spool: Spool, content: bytes) -> SpoolEntry:
    entry = spool.put(content)
    assert entry is not None
    return entry


def test_entries_are_read_as_they_were_put_and_removed_once(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    entries = [put(spool, content) for content in (b"", b"one", bytes(range(256)) * 40)]
    assert [spool.read(entry) for entry in entries] == [b"", b"one", bytes(range(256)) * 40]
    for entry in entries:
        spool.remove(entry)
        spool.remove(entry)
    assert len(spool) == 0
    spool.close()
    assert not (tmp_path / "s").exists()


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s")
    entry = put(spool, b"said")
    assert entry.path is not None
    assert [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "s", entry.path.parent, entry.path)] == [
        0o700,
        0o700,
        0o600,
    ]


def test_what_a_process_left_is_taken_over_in_order(tmp_path: Path) -> None:
    first = opened(tmp_path / "s")
    for number in range(12):
        put(first, b"%d" % number)
    first.close()
    second = Spool(tmp_path / "s")
    taken = second.open(NOW)
    assert [second.read(entry) for entry in taken] == [b"%d" % number for number in range(12)]
    assert second.adopt() == ()
    assert [path.name for path in (tmp_path / "s").iterdir()] == [taken[0].path.parent.name if taken[0].path else ""]


def test_a_living_process_keeps_its_entries(tmp_path: Path) -> None:
    first = opened(tmp_path / "s")
    put(first, b"mine")
    second = Spool(tmp_path / "s")
    assert second.open(NOW) == ()
    first.close()
    assert [second.read(entry) for entry in second.adopt()] == [b"mine"]


def test_what_has_no_room_is_left_for_later(tmp_path: Path) -> None:
    first = opened(tmp_path / "s")
    for number in range(5):
        put(first, b"%d" % number)
    first.close()
    second = Spool(tmp_path / "s", max_entries=2)
    taken = second.open(NOW)
    assert [second.read(entry) for entry in taken] == [b"0", b"1"]
    for entry in taken:
        second.remove(entry)
    assert [second.read(entry) for entry in second.adopt()] == [b"2", b"3"]


@pytest.mark.parametrize("folder", [True, False], ids=["on disk", "in memory"])
def test_it_is_bounded_by_number_and_by_bytes(tmp_path: Path, folder: bool) -> None:
    where = tmp_path / "s" if folder else None
    spool = opened(where, max_entries=3)
    entries = [put(spool, b"x") for _ in range(3)]
    assert spool.put(b"x") is None
    spool.remove(entries[1])
    assert spool.put(b"x") is not None
    small = opened(where, max_bytes=1_000)
    assert small.put(b"x" * 1_001) is None
    assert small.put(b"x" * 500) is not None
    assert small.put(b"x" * 500) is None


def test_a_broken_file_is_set_aside_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Cut, changed, empty, or of another kind."""
    spool = opened(tmp_path / "s")
    entries = [put(spool, b"x" * 100) for _ in range(4)]
    kept = put(spool, b"good")
    for entry, end, more in zip(entries, (50, -1, 0, 0), (b"", b"y", b"", b"z" * 200), strict=True):
        assert entry.path is not None
        entry.path.write_bytes(entry.path.read_bytes()[:end] + more)
    with caplog.at_level(logging.WARNING):
        assert [spool.read(entry) for entry in entries] == [None] * 4
    assert (spool.broken, len(spool), len(caplog.records)) == (4, 1, 1)
    assert spool.read(kept) == b"good"
    spool.close()
    again = Spool(tmp_path / "s")
    assert [again.read(entry) for entry in again.open(NOW)] == [b"good"]


def test_few_broken_files_are_kept_and_not_for_long(tmp_path: Path) -> None:
    """They may hold what is forgotten meanwhile."""
    spool = opened(tmp_path / "s")
    for _ in range(40):
        spool.set_aside(put(spool, b"x"))
    aside = list((tmp_path / "s" / "broken").iterdir())
    assert len(aside) == 16
    for path in aside[:10]:
        os.utime(path, (NOW / 1000 - 90_000, NOW / 1000 - 90_000))
    for path in aside[10:]:
        os.utime(path, (NOW / 1000, NOW / 1000))
    Spool(tmp_path / "s").open(NOW)
    assert len(list((tmp_path / "s" / "broken").iterdir())) == 6


def test_half_of_an_entry_is_none(tmp_path: Path) -> None:
    """A process that is killed while it writes leaves a file that the next one removes."""
    spool = opened(tmp_path / "s")
    entry = put(spool, b"whole")
    assert entry.path is not None
    entry.path.with_name("000000000009.part").write_bytes(b"germane ent")
    spool.close()
    again = Spool(tmp_path / "s")
    assert [again.read(entry) for entry in again.open(NOW)] == [b"whole"]
    assert not list((tmp_path / "s").rglob("*.part"))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_disk_that_takes_nothing_leaves_it_in_memory_and_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    spool = opened(tmp_path / "s")
    write = module._write

    def failing(path: Path, content: bytes) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(module, "_write", failing)
    with caplog.at_level(logging.WARNING):
        entries = [put(spool, b"%d" % one) for one in range(3)]
    assert [spool.read(entry) for entry in entries] == [b"0", b"1", b"2"]
    assert len(caplog.records) == 1
    assert spool.put(b"x" * 2**24) is None
    monkeypatch.setattr(module, "_write", write)
    assert put(spool, b"again").path is not None
    for entry in entries:
        spool.remove(entry)
    assert len(spool) == 1


def test_a_disk_that_is_full_in_the_middle_of_a_write_leaves_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = opened(tmp_path / "s")

    def full(self: Path, target: Path) -> Path:
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(Path, "rename", full)
    assert put(spool, b"said").path is None
    assert not list((tmp_path / "s").rglob("*.part"))


def test_without_a_folder_it_waits_in_memory(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A place where no folder can be made: a file stands there."""
    (tmp_path / "s").write_text("a file")
    with caplog.at_level(logging.WARNING):
        spool = opened(tmp_path / "s")
    assert len(caplog.records) == 1
    assert spool.read(put(spool, b"said")) == b"said"
    spool.close()


def test_a_process_without_files_left_tries_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = opened(tmp_path / "s")
    entry = put(spool, b"said")

    def none_left(self: Path) -> bytes:
        raise OSError(errno.EMFILE, "too many")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", none_left)
        with pytest.raises(OSError, match="too many"):
            spool.read(entry)
    assert spool.read(entry) == b"said"
