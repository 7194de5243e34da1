"""The service's settings: file, environment and command line, which of them wins, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import InvalidInput
from germane.settings.declaration import declared
from germane.settings.serving import ServiceSettings
from germane.settings.settings import Settings, read_service_settings
from germane.settings.values import Address
from support.examples import examples

pytestmark = pytest.mark.requirement("OPS-1")

PEM = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "germane.toml"


def test_nothing_said_serves_this_machine_alone() -> None:
    """Loopback, without keys."""
    found = read_service_settings()
    assert (str(found.grpc), str(found.http)) == ("127.0.0.1:7411", "127.0.0.1:7412")
    assert found.grpc.loopback
    assert not found.keys_required


def test_the_command_line_goes_before_the_environment_and_that_before_the_file(path: Path) -> None:
    """An empty variable and an option that wasn't given say nothing."""
    path.write_text('[serve]\nworkers = 2\nlog_level = "debug"\nlog_format = "console"\n')
    environ = {"GERMANE_SERVE_WORKERS": "3", "GERMANE_SERVE_LOG_LEVEL": "error", "GERMANE_SERVE_LOG_FORMAT": ""}
    found = read_service_settings(path, environ, {"workers": 4, "log_level": None})
    assert (found.workers, found.log_level, found.log_format) == (4, "error", "console")


def test_a_path_in_the_file_is_meant_from_where_the_file_is(path: Path) -> None:
    """As with the relevance model's; on the command line it is meant from where one stands."""
    (path.parent / "ca.pem").write_text(PEM)
    path.write_text('[serve]\ndb = "kept.db"\ntls_cert = "ca.pem"\ntls_key = "ca.pem"\n')
    assert read_service_settings(path).db == path.parent / "kept.db"
    assert read_service_settings(path).tls_cert == path.parent / "ca.pem"
    assert read_service_settings(path, {}, {"db": Path("other.db")}).db == Path("other.db")


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("HTTP", "off", "http", None),
        ("HTTP", "[::1]:80", "http", Address(host="::1", port=80)),
        ("REQUIRE_KEYS", "yes", "require_keys", True),
        ("REQUIRE_KEYS", "auto", "require_keys", None),
        ("TLS_CERT", "off", "tls_cert", None),
        ("METRICS", "0", "metrics", False),
        ("MAX_MESSAGE_BYTES", "1_048_576", "max_message_bytes", 1024**2),
        ("SHUTDOWN_SECONDS", "2.5", "shutdown_seconds", 2.5),
        ("OTEL", "Console", "otel", "console"),
    ],
)
def test_a_variable_is_read_as_what_it_means(variable: str, text: str, field: str, value: object) -> None:
    """Everything in the environment is text."""
    assert getattr(read_service_settings(None, {f"GERMANE_SERVE_{variable}": text}), field) == value


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gprc = 'x'", r"\[serve\]: unknown gprc; known are .*grpc"),
        ("grpc = 7411", "serve.grpc must be HOST:PORT, not 7411"),
        ("grpc = ':7411'", "serve.grpc must be HOST:PORT such as"),
        ("grpc = 'host:70000'", "has a port that isn't a number from 0 to 65535"),
        ("grpc = '::1:7411'", r"stands in brackets: \[::1\]:7411"),
        ("grpc = 'http://host:7411'", "must be HOST:PORT|stands in brackets"),
        ("workers = 0", "serve.workers must be a whole number from 1 to 64, not 0"),
        ("workers = true", "serve.workers must be a whole number from 1 to 64, not True"),
        ("workers = 1.5", "serve.workers must be a whole number"),
        ("metrics = 'perhaps'", "serve.metrics must be true or false, not 'perhaps'"),
        ("require_keys = 3", "serve.require_keys must be true or false, not 3: 'auto' is allowed too"),
        ("log_level = 'loud'", "serve.log_level must be one of debug, info, warning, error, not 'loud'"),
        ("otel_sample = nan", "serve.otel_sample must be a number from 0 to 1, not nan"),
        ("max_lag_ms = 'much'", "serve.max_lag_ms must be a number from 1 to 60,000, not 'much'"),
        ("otel = 'otlp'\notel_endpoint = 'collector:4318'", "serve.otel_endpoint must be an address such as"),
        ("otel = 'otlp'\notel_endpoint = 'http://me:sesame@collector'", "must not hold a name or password"),
        ("otel_endpoint = 'http://collector:4318'", "serve.otel_endpoint needs otel to be otlp, not off"),
        ("tls_cert = 'nowhere.pem'", r"serve.tls_cert is .*nowhere.pem, which can't be read \(No such file"),
        ("tls_cert = 'germane.toml'", "germane.toml, which isn't a PEM file"),
        ("grpc = '0.0.0.0:7411'\nrequire_keys = false", "serve.require_keys can't be false while 0.0.0.0:7411"),
        ("http = '127.0.0.1:7411'", "serve.http must be another address than grpc's"),
        ("workers = 2\ngrpc = '127.0.0.1:0'", "serve.workers above 1 need ports by number"),
    ],
)
def test_a_setting_that_cannot_be_used_says_what_would_do(path: Path, line: str, said: str) -> None:
    """With the file and the name."""
    path.write_text(f"[serve]\n{line}\n")
    with pytest.raises(InvalidInput, match=said) as error:
        read_service_settings(path)
    assert path.name in str(error.value)


def test_a_certificate_that_is_off_is_no_path(path: Path) -> None:
    """In the file as in the environment."""
    path.write_text('[serve]\ntls_cert = "off"\ntls_key = false\n')
    assert read_service_settings(path) == ServiceSettings()


def test_an_unknown_variable_is_refused_with_the_one_that_was_meant() -> None:
    """A setting that is silently not used is worse than none; other programs' variables are theirs."""
    with pytest.raises(InvalidInput, match=r"^GERMANE_SERVE_GPRC is unknown; known are GERMANE_SERVE_GRPC$"):
        read_service_settings(None, {"GERMANE_SERVE_GPRC": "x", "HOME": "y", "GERMANE_EMBEDDER": "static"})


def test_an_option_is_named_as_it_is_typed() -> None:
    """Nobody typed a TOML key."""
    with pytest.raises(InvalidInput, match=r"^--max-lag-ms must be a number"):
        read_service_settings(None, {}, {"max_lag_ms": "x"})


def test_a_certificate_and_its_key_come_together(path: Path) -> None:
    """And callers' certificates only over TLS."""
    pem = path.parent / "a.pem"
    pem.write_text(PEM)
    for line, said in [
        ("tls_cert", "tls_cert needs tls_key"),
        ("tls_key", "tls_key needs tls_cert"),
        ("tls_client_ca", "needs tls_cert"),
    ]:
        path.write_text(f"[serve]\n{line} = 'a.pem'\n")
        with pytest.raises(InvalidInput, match=said):
            read_service_settings(path)


@pytest.mark.parametrize("variable", ["GERMANE_SERVE_TLS_KEY", "GERMANE_SERVE_TLS_CERT"])
def test_a_key_given_in_place_of_its_path_is_not_shown(variable: str, tmp_path: Path) -> None:
    """It would end in a log. Nor is what stands in a file."""
    body = "MIIEvQIBADANBgkq"
    with pytest.raises(InvalidInput, match="must be the path of a PEM file, not what is in it") as error:
        read_service_settings(None, {variable: f"-----BEGIN PRIVATE KEY-----\n{body}\n"})
    assert body not in str(error.value)
    (tmp_path / "locked.pem").write_text(f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{body}\n")
    with pytest.raises(InvalidInput, match="needs a passphrase") as error:
        read_service_settings(None, {variable: str(tmp_path / "locked.pem")})
    assert body not in str(error.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.7", "[::]", "germane.internal", "[::ffff:10.0.0.1]", "localhost.example"])
def test_an_address_that_others_reach_needs_keys(host: str) -> None:
    """Always: saying otherwise is refused, in code too."""
    address = Address.parse(f"{host}:7411")
    assert ServiceSettings(grpc=address, plaintext=True).keys_required
    with pytest.raises(InvalidInput, match="require_keys can't be false"):
        ServiceSettings(grpc=address, plaintext=True, require_keys=False)


@pytest.mark.requirement("RPC-5")
def test_keys_over_plaintext_to_an_address_that_others_reach_are_asked_for(path: Path) -> None:
    """Never by default, in code or in a file; over TLS nothing need be said."""
    everywhere = Address.parse("0.0.0.0:7411")
    said = r"grpc 0.0.0.0:7411 is reached from elsewhere.* give tls_cert and tls_key; or, .* --plaintext"
    with pytest.raises(InvalidInput, match=said):
        ServiceSettings(grpc=everywhere)
    with pytest.raises(InvalidInput, match=r"--grpc 0.0.0.0:7411 is reached from elsewhere"):
        read_service_settings(None, {}, {"grpc": "0.0.0.0:7411"})
    path.write_text("[serve]\ngrpc = '0.0.0.0:7411'\nplaintext = true\n")
    assert read_service_settings(path).plaintext
    assert read_service_settings(None, {"GERMANE_SERVE_GRPC": "0.0.0.0:1", "GERMANE_SERVE_PLAINTEXT": "true"}).plaintext
    (path.parent / "a.pem").write_text(PEM)
    pem = path.parent / "a.pem"
    assert not ServiceSettings(grpc=everywhere, tls_cert=pem, tls_key=pem).plaintext


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "[::1]"])
def test_loopback_needs_keys_when_they_are_asked_for(host: str) -> None:
    """By default it doesn't."""
    address = Address.parse(f"{host}:7411")
    assert not ServiceSettings(grpc=address).keys_required
    assert ServiceSettings(grpc=address, require_keys=True).keys_required


def test_other_commands_pass_over_the_services_table(path: Path) -> None:
    """One file for all; a slip in it stops the service, not a search."""
    path.write_text("[serve]\nworkers = 'many'\n")
    assert Settings.load(path, {"GERMANE_SERVE_NONSENSE": "1"}) == Settings()


@given(
    st.dictionaries(
        st.sampled_from([f"GERMANE_SERVE_{name.upper()}" for name in declared(ServiceSettings)]), st.text(max_size=30)
    )
)
@examples(200)
def test_whatever_a_variable_holds_it_is_used_or_refused_by_name(environ: dict[str, str]) -> None:
    """No other error, and nothing of a hundred lines."""
    said = ""
    try:
        read_service_settings(None, environ)
    except InvalidInput as error:
        said = str(error)
    assert not said or said.startswith(tuple(environ))
    assert len(said) < 600
