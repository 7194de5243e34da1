"""Environment: creates a peer's virtual environment from pinned requirements, and measures its size."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Environment", "environment"]

_HERE = Path(__file__).parent / "requirements"
_ROOT = Path(__file__).parents[2]
_LIST = "import importlib.metadata as m, json; print(json.dumps({d.name.lower(): d.version for d in m.distributions()}))"


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    python: Path
    megabytes: float
    """10^6 bytes of the installed packages' files, beyond an empty environment, before the shared embedder is added; compiled
    modules, which come with use, left out."""
    versions: dict[str, str]


def environment(name: str, root: Path) -> Environment:
    """The environment `name` in the folder `root`, created if missing and recreated if its requirements have changed. Raises
    `RuntimeError` with the installer's output."""
    folder, note = root / name, root / f"{name}.json"
    wanted = _digest(name)
    if note.exists() and (kept := json.loads(note.read_text("utf-8")))["of"] == wanted:
        return _environment(folder, kept)
    print(f"{name}: installing", flush=True)
    root.mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "venv", "--clear", str(folder))
    python = str(_python(folder))
    empty = _weight(folder)
    if name == "germane":
        _run(*_pip(python), "--editable", str(_ROOT))
    else:
        _run(*_pip(python), *_pinned(name))
    weight = _weight(folder) - empty + (_size(_ROOT / "src") if name == "germane" else 0)
    versions = json.loads(_run(python, "-c", _LIST))
    _run(*_pip(python), *_pinned("embedder"))
    if name == "germane":
        _run(*_pip(python), "--editable", f"{_ROOT}[minilm]")
    kept = {"of": wanted, "megabytes": weight / 1e6, "versions": versions}
    note.write_text(json.dumps(kept, indent=1), "utf-8")
    return _environment(folder, kept)


def _environment(folder: Path, kept: dict[str, Any]) -> Environment:
    return Environment(python=_python(folder), megabytes=kept["megabytes"], versions=kept["versions"])


def _pip(python: str) -> list[str]:
    return [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]


def _pinned(name: str) -> list[str]:
    return ["--requirement", str(_HERE / f"{name}.txt"), "--constraint", str(_HERE / "constraints.txt")]


def _digest(name: str) -> str:
    if name == "germane":
        wanted = json.dumps(tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"])
    else:
        wanted = (_HERE / f"{name}.txt").read_text("utf-8")
    embedder = (_HERE / "embedder.txt").read_text("utf-8")
    return hashlib.sha256(f"{wanted}{embedder}{sys.version}".encode()).hexdigest()


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def _weight(folder: Path) -> int:
    return sum(_size(path) for path in folder.glob("[lL]ib/**/site-packages"))


def _size(folder: Path) -> int:
    files = (path for path in folder.rglob("*") if path.suffix != ".pyc" and path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} ... failed:\n{done.stderr.strip()[-2000:]}")
    return done.stdout
