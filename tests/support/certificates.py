"""Certificates: a CA, a server's and a caller's that it signed, and a stranger's."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["made_certificates"]


def made_certificates(folder: Path) -> Path:
    """Writes `ca`, `server` and `caller`, which the CA signed for this machine, and `stranger`, self-signed, each as `.pem`
    with its `.key`. Returns the folder."""
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for name in ("ca", "stranger"):
        out = ("-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2")
        _openssl(folder, "req", "-x509", *curve, *out)
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n", "utf-8")
    for name in ("server", "caller"):
        _openssl(folder, "req", *curve, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signing = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        _openssl(folder, "x509", "-req", "-in", f"{name}.csr", *signing, "-out", f"{name}.pem")
    return folder


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, capture_output=True, check=True)
