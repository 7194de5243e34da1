"""Settings: reads the TOML file and the environment variables; no other module reads either.

Besides `[germane]`, whose keys are the declared fields of `Settings`, a file has these tables:

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

[serve]                          # the fields of `ServiceSettings`
grpc = "127.0.0.1:7411"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput, MissingExtra
from germane.kinds.tasks.value import MAX_DEPTH, MAX_OPEN
from germane.settings.declaration import declared, in_table, in_variables, known_table, optional_setting, parsed, setting
from germane.settings.serving import ServiceSettings
from germane.settings.upstreams import upstreams
from germane.settings.values import choice, flag, integer, key, path, text
from germane.text.secrets.detection import POLICIES, SecretPolicy

_PREFIX, _SERVE_PREFIX = "GERMANE_", "GERMANE_SERVE_"
_LLM_ACCESS = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
"""Variables with the addresses and keys of LLMs, as the providers' own libraries call them."""
_YEAR_SECONDS = 366 * 86_400
_YAML = frozenset({".yaml", ".yml"})
_OPTIONS = {"upstreams": "--upstream"}
"""Options of the command line that aren't called as their setting."""
_TABLES = frozenset({"archetypes", "germane", "memory", "models", "prices", "serve", "strategies"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the library. `models`, `prices`, `strategies`, `archetypes` and `memory` are tables as in TOML, `relevance`
    the path of a file of coefficients; the code that uses them checks their content."""

    embedder: str = setting(
        "distilled", text, "how texts become vectors: `distilled`, `minilm`, `static`, `openai:<model>` or `<address>#<model>`"
    )
    dimensions: int | None = optional_setting(
        integer(1), "the length of an endpoint's vectors; by default its first answer tells it"
    )
    nonce_key: bytes | None = optional_setting(
        key,
        "hex digits, 32 or more, that sections are marked with; by default a random key that the database keeps",
    )
    secrets: SecretPolicy = setting(
        "redact", choice(*POLICIES), "what happens to secrets in what is stored: `redact`, `tag`, `refuse` or `off`"
    )
    extraction: bool = setting(True, flag, "whether recording extracts memories from the users' own turns, by rules")
    entities: bool = setting(
        False,
        flag,
        "whether recording looks for the entities that messages mention; with an archetype it always does",
    )
    llm: str | None = optional_setting(
        text,
        "model that extracts and sums up in the background: `openai:<model>`, `anthropic:<model>` or `<address>#<model>`",
    )
    llm_tokens_per_day: int | None = optional_setting(
        integer(1), "tokens that `llm` may cost a day (UTC); by default as many as there is work for"
    )
    archetype: str | None = optional_setting(
        text, "the archetype whose extractors read what is recorded: `coding`, `support`, `research` or one of the settings'"
    )
    consent_timeout: int = setting(
        300, integer(1, _YEAR_SECONDS), "seconds in which a request for consent to an edit of a block can be answered"
    )
    delegation_depth: int = setting(3, integer(1, MAX_DEPTH), "how many delegations of tasks may lie within one another")
    delegations: int = setting(16, integer(1, MAX_OPEN), "how many delegated tasks of one session may run at the same time")
    relevance: Path | None = optional_setting(
        path, "a file of coefficients as `germane eval fit` writes it; by default the shipped model", relative=True
    )
    llm_access: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Addresses and keys of LLMs by the names of their variables; never shown."""
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    strategies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    archetypes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | str | None = None, environ: Mapping[str, str] | None = None) -> Settings:
        """Reads the TOML file at `path`; variables in `environ` that aren't empty override it. Without both, returns the
        defaults. Raises `InvalidInput` that names the setting and the file or variable."""
        tables = {} if path is None else _tables_of(Path(path))
        given = {
            **({} if path is None else in_table(cls, tables, "germane", Path(path))),
            **in_variables(cls, _PREFIX, environ or {}),
        }
        return cls(
            **parsed(cls, given),
            llm_access={name: environ[name] for name in _LLM_ACCESS if environ.get(name)} if environ else {},
            models=_tables(tables, "models", path),
            prices=_tables(tables, "prices", path),
            strategies=_tables(tables, "strategies", path),
            archetypes=_tables(tables, "archetypes", path),
            memory=_tables(tables, "memory", path),
        )


def read_service_settings(
    path: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, object] | None = None,
) -> ServiceSettings:
    """Reads the settings of the service: the table `[serve]` of the file at `path`, overridden by variables in `environ` that
    aren't empty, overridden by the command line's `options` that aren't None. Raises `InvalidInput` that names the file,
    variable or option."""
    known = {f"{_SERVE_PREFIX}{name.upper()}" for name in declared(ServiceSettings)}
    for variable in sorted(environ or {}):
        if variable.startswith(_SERVE_PREFIX) and variable not in known:
            near = get_close_matches(variable.upper(), known, n=1) or sorted(known)
            raise InvalidInput(f"is unknown; known are {', '.join(near)}", path=variable)
    given = {
        **({} if path is None else in_table(ServiceSettings, _tables_of(Path(path)), "serve", Path(path))),
        **in_variables(ServiceSettings, _SERVE_PREFIX, environ or {}),
        **{
            name: (str(value) if isinstance(value, Path) else value, _OPTIONS.get(name, f"--{name.replace('_', '-')}"))
            for name, value in (options or {}).items()
            if value is not None
        },
    }
    if "upstreams" in given:
        value, where = given["upstreams"]
        given["upstreams"] = upstreams(value, where, environ), where
    return ServiceSettings.of(given)


def _tables_of(path: Path) -> Mapping[str, Any]:
    """The tables of a settings file. Raises `InvalidInput` for an unknown one."""
    return known_table(_read(path), f"settings {path}", _TABLES)


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


def _tables(document: Mapping[str, Any], name: str, path: Path | str | None) -> Mapping[str, Mapping[str, Any]]:
    """The tables below `[name]`; the code that uses them checks their content."""
    tables = document.get(name, {})
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise InvalidInput(f"must be tables such as [{name}.mine]", path=f"settings {path}: {name}")
    return tables
