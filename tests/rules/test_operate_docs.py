"""Operator docs: the guide, the page of settings and `.env.example` list every setting, metric, log field and reason."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from germane.service.metrics import Metrics
from germane.service.redaction import EVENTS, FIELDS
from germane.settings.declaration import declared, written_default
from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings, read_service_settings
from germane.types.traffic import KINDS, REASONS
from support.source_tree import ROOT

pytestmark = pytest.mark.requirement("OPS-1")

GUIDE = (ROOT / "docs" / "operate" / "operate.md").read_text("utf-8")
PAGE = (ROOT / "docs" / "use" / "settings.md").read_text("utf-8")
EXAMPLE = (ROOT / ".env.example").read_text("utf-8")
OTHERS = ["GERMANE_API_KEY", "GERMANE_DB", "GERMANE_HOME", "GERMANE_IDLE_SECONDS", "GERMANE_SERVER", "GERMANE_SETTINGS"]
"""Variables that the command and the local service alone read."""
LIBRARY = {f"GERMANE_{name.upper()}": field for name, field in declared(Settings).items()}
SERVICE = {f"GERMANE_SERVE_{name.upper()}": field for name, field in declared(ServiceSettings).items()}


def settings_table(table: str, variables: Mapping[str, dataclasses.Field[Any]]) -> str:
    rows = [f"| in `[{table}]` | variable | default | |", "|---|---|---|---|"]
    for variable, field in variables.items():
        default = f"`{written_default(field)}`" if written_default(field) else "none"
        rows.append(f"| `{field.name}` | `{variable}` | {default} | {field.metadata['says']} |")
    return "\n".join(rows)


def variables(of: Mapping[str, dataclasses.Field[Any]]) -> str:
    lines = []
    for variable, field in of.items():
        says = field.metadata["says"].replace("`", "")
        lines += [f"\n# {says[0].upper()}{says[1:]}.", f"# {variable}={written_default(field)}"]
    return "\n".join(lines)


def metrics_table() -> str:
    """Name, kind, labels and meaning of each metric that is served."""
    metrics = Metrics(version="0.1.0")
    rows = ["| metric | kind | labels | |", "|---|---|---|---|"]
    for family in sorted(metrics.families, key=lambda one: one.name):
        labels = ", ".join(f"`{label}`" for label in family.labels)
        rows.append(f"| `{family.name}` | {family.kind} | {labels} | {family.says} |")
    return "\n".join(rows)


def test_the_guide_has_every_setting_as_it_is() -> None:
    """Name, variable, default, meaning."""
    made = settings_table("serve", SERVICE)
    assert made in GUIDE, f"put this into docs/operate/operate.md:\n{made}"


def test_the_page_of_settings_has_every_setting_of_the_library_as_it_is() -> None:
    """Name, variable, default, meaning."""
    made = settings_table("germane", LIBRARY)
    assert made in PAGE, f"put this into docs/use/settings.md:\n{made}"


def test_the_guide_has_every_metric_as_it_is() -> None:
    """Name, kind, labels, meaning."""
    assert metrics_table() in GUIDE, f"put this into docs/operate/operate.md:\n{metrics_table()}"


def test_the_guide_has_every_field_and_event_of_a_log() -> None:
    """The page names all fields and events that a log line may have."""
    part = GUIDE.partition("## Logs")[2].partition("\n## ")[0]
    named = set(re.findall(r"`([a-z_]+)`", part))
    assert FIELDS.keys() <= named
    assert named >= EVENTS


def test_the_guide_has_every_reason_for_a_refusal() -> None:
    """And every kind of slot."""
    part = GUIDE.partition("## Admission control")[2].partition("\n## ")[0]
    named = re.findall(r"^\| `([a-z_]+)` \|", part, re.MULTILINE)
    assert sorted(named) == sorted([*REASONS, *KINDS])


def test_the_example_has_every_variable_and_its_default() -> None:
    """Every line is commented out, so a plain copy changes nothing."""
    for made in (variables(LIBRARY), variables(SERVICE)):
        assert made in EXAMPLE, f"put this into .env.example:\n{made}"
    named = re.findall(r"^# (GERMANE_[A-Z_]+)=", EXAMPLE, re.MULTILINE)
    assert sorted(named) == sorted([*OTHERS, *LIBRARY, *SERVICE])
    assert [line for line in EXAMPLE.splitlines() if line and not line.startswith("#")] == []


def test_no_variable_is_read_that_the_example_does_not_name() -> None:
    """The names are read from the source."""
    read = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"\bGERMANE_[A-Z_]*[A-Z]\b", path.read_text("utf-8"))
    }
    assert read <= {*OTHERS, *LIBRARY, *SERVICE, "GERMANE_SERVE"}


def test_the_examples_values_are_the_defaults(tmp_path: Path) -> None:
    """With every line uncommented, the settings are the default ones."""
    environ = dict(line[2:].split("=", 1) for line in EXAMPLE.splitlines() if re.match(r"# GERMANE_\w+=", line))
    assert read_service_settings(None, environ) == ServiceSettings()
    assert Settings.load(None, environ) == Settings()


def test_the_guides_settings_file_is_read(tmp_path: Path) -> None:
    """The TOML block loads as it stands."""
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    for name in re.findall(r'"([\w-]+\.pem)"', shown):
        (tmp_path / name).write_text("-----BEGIN CERTIFICATE-----\n")
    (tmp_path / "germane.toml").write_text(shown)
    assert read_service_settings(tmp_path / "germane.toml").keys_required
