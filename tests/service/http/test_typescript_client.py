"""The TypeScript client: its made files are those of the document, and its own tests pass against a real service."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tools.typescript import FOLDER, made

from support.running import serving
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("HTTP-2")


@pytest.mark.parametrize("name", ["types.d.ts", "operations.js"])
def test_the_made_files_are_what_the_document_says(name: str) -> None:
    """A changed operation fails here until they are made again."""
    assert (FOLDER / name).read_text("utf-8") == made()[name], "run: make twins"


def test_the_client_works_against_a_real_service(tmp_path: Path) -> None:
    """By node's own test runner."""
    if (node := shutil.which("node")) is None:
        pytest.skip("node isn't installed: the set-up of `make test` installs it where it may")
    with serving(tmp_path / "germane.db", GERMANE_SERVE_DEADLINE_MS="30000") as service:
        command = [node, "--test", str(ROOT / "packages" / "typescript" / "test")]
        given = {**os.environ, "GERMANE_URL": f"http://{service.http}"}
        done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-6000:]
        assert "# fail 0" in done.stdout
