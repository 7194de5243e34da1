"""Settings: reads the TOML file and the environment variables; no other module reads either.

[germane]
embedder = "distilled"           # GERMANE_EMBEDDER
dimensions = 768                 # GERMANE_DIMENSIONS; the length of an endpoint's vectors; by default its first answer tells
nonce_key = "64 hex digits"      # GERMANE_NONCE_KEY; default: a random key that the store creates and keeps
secrets = "redact"               # GERMANE_SECRETS; what happens to secrets in what is stored: redact, tag, refuse or off
extraction = true                # GERMANE_EXTRACTION; whether recording extracts memories from the users' own turns, by rules
entities = false                 # GERMANE_ENTITIES; whether recording looks for the entities that messages mention, by rules
llm = "openai:gpt-4o-mini"       # GERMANE_LLM; extracts and sums up in the background; default: none
llm_tokens_per_day = 500000      # GERMANE_LLM_TOKENS_PER_DAY; by default as many as there is work for
archetype = "coding"             # GERMANE_ARCHETYPE; whose extractors read what is recorded; default: none
consent_timeout = 300            # GERMANE_CONSENT_TIMEOUT; seconds in which consent to an edit of a block can be given
delegation_depth = 3             # GERMANE_DELEGATION_DEPTH; how many delegations of tasks may lie within one another
delegations = 16                 # GERMANE_DELEGATIONS; how many delegated tasks of one session may run at the same time
relevance = "mine.toml"          # GERMANE_RELEVANCE; from `germane eval fit`, relative to this file; default: the shipped model

[models."my-model"]              # fields as in the model catalog
like = "gpt-4o"
window = 32000

[prices."my-model"]              # US dollars a million input tokens, fields as in the price list
input = 0.20

[strategies.terse]               # starts from the strategy named by `like`; tables are merged
like = "compact"
cap = 1500

[archetypes.mine]                # starts from the archetype named by `like`; tables are merged
like = "coding"
depth = 3

[memory.v1]                      # the strategy `digest`; an agent.yml with the same keys is read too
semantic = { enabled = true }

[serve]                          # settings of `germane serve`, variables GERMANE_SERVE_…: docs/operate/operate.md
grpc = "127.0.0.1:7411"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput, MissingExtra
from germane.kinds.tasks.value import MAX_DEPTH, MAX_OPEN
from germane.settings.serving import ServiceSettings
from germane.settings.values import choice
from germane.text.secrets.detection import POLICIES, SecretPolicy, secret_policy

_SERVE_PREFIX = "GERMANE_SERVE_"
_LLM_ACCESS = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
"""Variables with the addresses and keys of LLMs, as the providers' own libraries call them."""
_RELATIVE_PATHS = ("db", "tls_cert", "tls_key", "tls_client_ca")
"""Settings whose paths in a TOML file are relative to that file."""
_GERMANE_KEYS = (
    "embedder",
    "dimensions",
    "nonce_key",
    "secrets",
    "extraction",
    "entities",
    "llm",
    "llm_tokens_per_day",
    "relevance",
    "archetype",
    "consent_timeout",
    "delegation_depth",
    "delegations",
)
"""The settings of the table `[germane]`."""
_YEAR_SECONDS = 366 * 86_400
_YAML = frozenset({".yaml", ".yml"})
_TABLES = frozenset({"archetypes", "germane", "memory", "models", "prices", "serve", "strategies"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the library. `models`, `prices`, `strategies`, `archetypes` and `memory` are tables as in TOML, `relevance`
    the path of a file of coefficients; the code that uses them checks their content."""

    embedder: str = "distilled"
    dimensions: int | None = None
    nonce_key: bytes | None = None
    secrets: SecretPolicy = "redact"
    extraction: bool = True
    entities: bool = False
    """Whether recording looks for the entities that messages mention; with an archetype it always does."""
    llm: str | None = None
    llm_tokens_per_day: int | None = None
    archetype: str | None = None
    """The name of the archetype whose extractors read what is recorded."""
    consent_timeout: int = 300
    """Seconds in which a request for consent to an edit of a block can be answered."""
    delegation_depth: int = 3
    delegations: int = 16
    """How deep tasks may be delegated, and how many delegated tasks of a session may run at the same time."""
    llm_access: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Addresses and keys of LLMs by the names of their variables; never shown."""
    relevance: Path | None = None
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    strategies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    archetypes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads the TOML file at `path`; variables in `environ` that aren't empty override it. Without both, returns the
        defaults. Raises `InvalidInput` that names the setting and the file or variable."""
        where = "settings" if path is None else f"settings {path}"
        tables = _table({} if path is None else _read(Path(path)), where, _TABLES)
        plain = _table(tables.get("germane", {}), f"{where}: [germane]", set(_GERMANE_KEYS))
        given = {name: (plain[name], f"{where}: {name}") for name in plain}
        if path is not None and isinstance(relevance := plain.get("relevance"), str):
            given["relevance"] = (str(Path(path).parent / relevance), f"{where}: relevance")
        for name in _GERMANE_KEYS:
            variable = f"GERMANE_{name.upper()}"
            if (environ or {}).get(variable):
                given[name] = ((environ or {})[variable], variable)
        dimensions, secrets = given.pop("dimensions", None), given.pop("secrets", None)
        extraction, entities = given.pop("extraction", None), given.pop("entities", None)
        tokens = given.pop("llm_tokens_per_day", None)
        timeout = given.pop("consent_timeout", None)
        depth, running = given.pop("delegation_depth", None), given.pop("delegations", None)
        for value, setting in given.values():
            if not isinstance(value, str):
                raise InvalidInput(f"{setting} must be a string, not {type(value).__name__}")
        return cls(
            embedder=given["embedder"][0] if "embedder" in given else "distilled",
            dimensions=None if dimensions is None else _count(*dimensions),
            extraction=extraction is None or _switch(*extraction),
            entities=entities is not None and _switch(*entities),
            llm=(given["llm"][0] or None) if "llm" in given else None,
            llm_tokens_per_day=None if tokens is None else _count(*tokens),
            consent_timeout=300 if timeout is None else _count(*timeout, maximum=_YEAR_SECONDS),
            delegation_depth=3 if depth is None else _count(*depth, maximum=MAX_DEPTH),
            delegations=16 if running is None else _count(*running, maximum=MAX_OPEN),
            llm_access={name: environ[name] for name in _LLM_ACCESS if environ.get(name)} if environ else {},
            nonce_key=_key(*given["nonce_key"]) if "nonce_key" in given else None,
            secrets="redact" if secrets is None else secret_policy(choice(*POLICIES)(*secrets)),
            archetype=(given["archetype"][0] or None) if "archetype" in given else None,
            relevance=Path(given["relevance"][0]) if "relevance" in given else None,
            models=_tables(tables, "models", where),
            prices=_tables(tables, "prices", where),
            strategies=_tables(tables, "strategies", where),
            archetypes=_tables(tables, "archetypes", where),
            memory=_tables(tables, "memory", where),
        )


def read_service_settings(
    path: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
) -> ServiceSettings:
    """Reads the settings of the service: the table `[serve]` of the file at `path`, overridden by variables in `environ` that
    aren't empty, overridden by the command line's `options` that aren't None. Raises `InvalidInput` that names the file,
    variable or option."""
    given: dict[str, tuple[object, str]] = {}
    if path is not None:
        where = f"settings {path}"
        tables = _table(_read(Path(path)), where, _TABLES)
        table = _table(tables.get("serve", {}), f"{where}: [serve]", frozenset(ServiceSettings.names()))
        for name, value in table.items():
            relative = name in _RELATIVE_PATHS and isinstance(value, str) and value and "\n" not in value
            given[name] = (str(Path(path).parent / value) if relative else value, f"{where}: serve.{name}")
    for variable, text in sorted((environ or {}).items()):
        if not variable.startswith(_SERVE_PREFIX):
            continue
        name = variable.removeprefix(_SERVE_PREFIX).lower()
        if name not in ServiceSettings.names() or variable != variable.upper():
            near = get_close_matches(name, ServiceSettings.names(), n=1) or ServiceSettings.names()
            raise InvalidInput(f"{variable}: unknown; known are {', '.join(_SERVE_PREFIX + known.upper() for known in near)}")
        if text:
            given[name] = (text, variable)
    for name, value in (options or {}).items():
        if value is not None:
            given[name] = (str(value) if isinstance(value, Path) else value, f"--{name.replace('_', '-')}")
    return ServiceSettings.of(given)


def _read(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; of a YAML file, which belongs to an agent and holds more than germane's, `memory` alone."""
    if path.suffix not in _YAML:
        return read_toml(path, "settings")
    try:
        import yaml
    except ImportError:
        raise MissingExtra("yaml", "pyyaml") from None
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"settings {path}: can't be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InvalidInput(f"settings {path}: isn't YAML ({str(error).splitlines()[0]})") from error
    if not isinstance(document, Mapping | None):
        raise InvalidInput(f"settings {path}: must be a table such as memory: {{v1: …}}, not {type(document).__name__}")
    memory = (document or {}).get("memory")
    return {"memory": {} if memory is None else memory}


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Parses a TOML file. Raises `InvalidInput`, beginning with `what` and the path, if it can't be read or parsed."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidInput(f"{what} {path}: can't be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{what} {path}: not TOML ({error})") from error


def _table(table: object, where: str, known: Set[str]) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise InvalidInput(f"{where} must be a table, not {type(table).__name__}")
    if unknown := sorted(set(table) - known):
        raise InvalidInput(f"{where}: unknown {', '.join(unknown)}; known are {', '.join(sorted(known))}")
    return table


def _tables(document: Mapping[str, Any], name: str, where: str) -> Mapping[str, Mapping[str, Any]]:
    """The tables below `[name]`; the code that uses them checks their content."""
    tables = document.get(name, {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise InvalidInput(f"{where}: {name} must be tables such as [{name}.mine]")
    return tables


def _switch(value: object, setting: str) -> bool:
    if isinstance(value, bool) or str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    raise InvalidInput(f"{setting} must be true or false, not {value!r}")


def _count(value: object, setting: str, *, maximum: int | None = None) -> int:
    if isinstance(value, bool) or not str(value).isdecimal() or not int(str(value)):
        raise InvalidInput(f"{setting} must be a whole number above 0, not {value!r}")
    if maximum is not None and int(str(value)) > maximum:
        raise InvalidInput(f"{setting} must be at most {maximum:,}, not {value!r}")
    return int(str(value))


def _key(text: str, setting: str) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        raise InvalidInput(f"{setting} must be hex digits") from None
    if len(key) < 16:
        raise InvalidInput(f"{setting} must have at least 32 hex digits, not {2 * len(key)}")
    return key
