"""Fixtures of the proxy's tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1, with its key in the same file."""
    folder = tmp_path_factory.mktemp("certificate")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"]
    made += ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key", "-out", "certificate"]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key").read_bytes() + (folder / "certificate").read_bytes())
    return both
