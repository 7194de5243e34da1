"""Seeded: secrets made from their published forms, in surroundings of two halves: one to work on, one to report.

None of them is anybody's. The halves differ in everything but the forms: texts, markup, languages, places within the text.
"""

from __future__ import annotations

import json
import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

__all__ = ["HALVES", "KINDS", "Seed", "harmless", "seeds"]

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_URL = _ALNUM + "-_"
_UPPER = string.ascii_uppercase + string.digits
_BASE32 = string.ascii_uppercase + "234567"


def _of(random: Random, alphabet: str, length: int) -> str:
    return "".join(random.choices(alphabet, k=length))


def _jwt(random: Random) -> str:
    head = urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    claims = urlsafe_b64encode(json.dumps({"sub": _of(random, _HEX, 12), "iat": 1516239022}).encode()).decode().rstrip("=")
    return f"{head}.{claims}.{_of(random, _URL, 43)}"


def _pem(random: Random) -> str:
    kind = random.choice(["RSA PRIVATE KEY", "PRIVATE KEY", "OPENSSH PRIVATE KEY", "EC PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
    lines = [_of(random, _ALNUM + "+/", 64) for _ in range(random.randint(4, 25))]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, _of(random, _ALNUM, 30) + "==", f"-----END {kind}-----"])


def _password(random: Random) -> str:
    word = random.choice(["hunter", "Tulip", "sommer", "Orange", "dragon", "Blume", "rocket", "Monterey", "qwe", "Zebra"])
    styles = (
        lambda: f"{word}{random.randint(2, 9999)}",
        lambda: f"{word}-{random.randint(10, 9999)}{random.choice('!?#$')}",
        lambda: _of(random, _ALNUM + "!#%&*+", random.randint(10, 20)) + random.choice("23456789") + "k",
        lambda: f"{word[:3]}{random.choice('@#$%')}{word[3:]}{random.randint(1, 99)}x",
    )
    return random.choice(styles)()


def _card(random: Random) -> str:
    digits = random.choice(["4", "51", "53", "55", "6011", "2221"])
    digits += _of(random, string.digits, 15 - len(digits))
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    digits += str(-total % 10)
    return random.choice([" ", "-"]).join(digits[at : at + 4] for at in range(0, 16, 4))


_Maker = Callable[[Random], str]
_ISSUED: Mapping[str, _Maker] = MappingProxyType(
    {
        "AWS access key": lambda r: r.choice(["AKIA", "ASIA"]) + _of(r, _BASE32, 16),
        "Google API key": lambda r: "AIza" + _of(r, _URL, 35),
        "Google client secret": lambda r: "GOCSPX-" + _of(r, _URL, 28),
        "Google OAuth token": lambda r: "ya29." + _of(r, _URL, r.randint(60, 160)),
        "GitHub token, classic": lambda r: r.choice(["ghp_", "gho_", "ghs_", "ghu_", "ghr_"]) + _of(r, _ALNUM, 36),
        "GitHub token, fine-grained": lambda r: f"github_pat_{_of(r, _ALNUM, 22)}_{_of(r, _ALNUM, 59)}",
        "GitLab token": lambda r: r.choice(["glpat-", "gldt-", "glrt-"]) + _of(r, _URL, 20),
        "Slack token": lambda r: (
            f"{r.choice(['xoxb', 'xoxp'])}-{r.randint(10**10, 10**12)}-{r.randint(10**11, 10**13)}-{_of(r, _ALNUM, 24)}"
        ),
        "Slack webhook": lambda r: f"hooks.slack.com/services/T{_of(r, _UPPER, 9)}/B{_of(r, _UPPER, 9)}/{_of(r, _ALNUM, 24)}",
        "Stripe key": lambda r: r.choice(["sk_live_", "sk_test_", "rk_live_"]) + _of(r, _ALNUM, r.choice([24, 99])),
        "OpenAI key, project": lambda r: r.choice(["sk-proj-", "sk-svcacct-"]) + _of(r, _URL, r.choice([48, 74, 156])),
        "OpenAI key, classic": lambda r: f"sk-{_of(r, _ALNUM, 20)}T3BlbkFJ{_of(r, _ALNUM, 20)}",
        "Anthropic key": lambda r: f"sk-ant-api03-{_of(r, _URL, 93)}AA",
        "Hugging Face token": lambda r: "hf_" + _of(r, string.ascii_letters, 34),
        "npm token": lambda r: "npm_" + _of(r, _ALNUM, 36),
        "PyPI token": lambda r: "pypi-AgEIcHlwaS5vcmc" + _of(r, _URL, 120),
        "SendGrid key": lambda r: f"SG.{_of(r, _URL, 22)}.{_of(r, _URL, 43)}",
        "Twilio key": lambda r: "SK" + _of(r, _HEX, 32),
        "Discord token": lambda r: f"{r.choice('MNO')}{_of(r, _ALNUM, 25)}.{_of(r, _URL, 6)}.{_of(r, _URL, 38)}",
        "Discord webhook": lambda r: f"discord.com/api/webhooks/{r.randint(10**17, 10**19)}/{_of(r, _URL, 68)}",
        "Telegram bot token": lambda r: f"{r.randint(10**9, 10**10 - 1)}:AA{_of(r, _URL, 33)}",
        "JWT": _jwt,
        "private key": _pem,
        "Azure client secret": lambda r: f"{_of(r, _ALNUM, 3)}8Q~{_of(r, _ALNUM + '_~.-', 34)}",
        "Azure storage key": lambda r: "AccountKey=" + b64encode(r.randbytes(64)).decode(),
        "DigitalOcean token": lambda r: "dop_v1_" + _of(r, _HEX, 64),
        "Shopify token": lambda r: "shpat_" + _of(r, _HEX, 32),
        "Databricks token": lambda r: "dapi" + _of(r, _HEX, 32),
        "Vault token": lambda r: "hvs." + _of(r, _URL, 90),
        "Docker token": lambda r: "dckr_pat_" + _of(r, _URL, 27),
        "Groq key": lambda r: "gsk_" + _of(r, _ALNUM, 52),
        "Grafana token": lambda r: f"glsa_{_of(r, _ALNUM, 32)}_{_of(r, _HEX, 8)}",
        "germane key": lambda r: f"gk_{_of(r, _BASE32.lower(), 16)}_{_of(r, _BASE32.lower(), 52)}",
        "card number": _card,
    }
)
"""Secrets that are known by their form, by kind."""
_NAMED: Mapping[str, _Maker] = MappingProxyType(
    {
        "AWS secret key": lambda r: b64encode(r.randbytes(30)).decode(),
        "password": _password,
        "password said": _password,
        "password in a URL": _password,
        "API key without a form": lambda r: _of(r, r.choice([_HEX, _ALNUM]), r.choice([20, 32, 40])) + "7",
        "bearer token": lambda r: _of(r, _ALNUM + "._-", r.randint(24, 60)) + "9",
        "PIN": lambda r: _of(r, string.digits, r.choice([4, 6])),
    }
)
"""Secrets that are known by what stands before them, by kind."""
KINDS = (*_ISSUED, *_NAMED)

_INTRODUCED: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "development": {
            "AWS secret key": ("AWS_SECRET_ACCESS_KEY={}", '"secretAccessKey": "{}"', "aws_secret_access_key = {}"),
            "password": ("DB_PASSWORD={}", 'password: "{}"', '"password": "{}", "port": 5432', "user=bob password={} host=db"),
            "password said": ("my password is {}", "The wifi password is {}.", "the password for the router is {}, ok?"),
            "password in a URL": ("postgres://app:{}@db.internal:5432/prod", "https://bob:{}@git.acme.test/repo.git"),
            "API key without a form": ('api_key = "{}"', "X-API-Key: {}", "API_TOKEN={}", '{{"apiKey": "{}"}}'),
            "bearer token": ("Authorization: Bearer {}", "curl -H 'Authorization: Bearer {}' https://x.test"),
            "PIN": ("my PIN is {}", "PIN: {}"),
        },
        "report": {
            "AWS secret key": ("export AWS_SECRET_ACCESS_KEY='{}'", "secret_access_key: {}", "aws.secretKey={}"),
            "password": (
                *("spring.datasource.password={}", "<password>{}</password>", "  passwd: '{}'", "mysql --password={} shop"),
                *(
                    "**Password:** {}",
                    "| password | {} |",
                    "login --password {} --force",
                    '\\"password\\": \\"{}\\"',
                    "PWD={};",
                ),
            ),
            "password said": (
                *("mein Passwort lautet {}", "mi contraseña es {}", "le mot de passe est {}", "my new password is now {}"),
                *(
                    "a senha é {}",
                    "пароль: {}",
                    "密码是 {}",
                    "Passphrase: {}",
                    "the password was changed to {}",
                    "password is `{}`",
                ),
            ),
            "password in a URL": (
                "redis://default:{}@cache:6379/0",
                "amqp://svc:{}@mq/vhost",
                "mongodb+srv://root:{}@c0.test/db",
            ),
            "API key without a form": (
                *(
                    "?api_key={}&limit=10",
                    "ACCESS_TOKEN: {}",
                    "client_secret={}",
                    "the api key is {}",
                    "--api-key {}",
                    "apikey => '{}'",
                ),
                *('os.environ["SERVICE_API_KEY"] = "{}"', "const accessToken = `{}`;"),
            ),
            "bearer token": ('{{"Authorization": "Bearer {}"}}', "headers: authorization=bearer {}"),
            "PIN": ("the pin code is {}", "Meine PIN ist {}", "pin={}"),
        },
    }
)
_AROUND: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "development": (
            *(
                "{}",
                "Here it is: {}",
                "I use {} for the build, is that right?",
                "```\n{}\n```",
                "Please store this: {}\nThanks!",
            ),
            *("export KEY={}", '{{"key": "{}"}}', "The deployment failed.\n\n{}\n\nWhat now?", "see ({})", "a,{},b"),
        ),
        "report": (
            *(
                "`{}`",
                "Hallo, hier ist der Schlüssel {} von gestern",
                '{{\\n  \\"value\\": \\"{}\\"\\n}}',
                "> {}",
                "- {}\n- nothing",
            ),
            *(
                "<code>{}</code>",
                "Notre clé : « {} ».",
                "[link](https://x.test/?t={})",
                "これは {} です",
                "“{}”",
                "key:\t{}\tend",
            ),
            *("first line\r\n{}\r\nlast", "**{}**", "config={};other=1", "echo '{}' | base64 -d", "the value ({}), as agreed"),
        ),
    }
)
HALVES = tuple(_AROUND)
_TALK = (
    "We talked about the trip to Lisbon and the hotel near the river. ",
    "The meeting on Tuesday was moved, and Ana will bring the slides. ",
    "In the second chapter the author describes how the bridge was built. ",
    "Bitte denk an den Termin beim Zahnarzt, und ruf vorher an. ",
    "def total(values): return sum(value.price for value in values if value.kept)\n",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """A text with a secret in it; `kind` is one of `KINDS`. `veiled` says how the secret was disguised, '' for not at all."""

    kind: str
    secret: str
    text: str
    veiled: str = ""


def seeds(half: str, count: int, seed: int = 1) -> list[Seed]:
    """Returns `count` seeds, the kinds in turn, in the surroundings of this half. The same for the same arguments."""
    random = Random(f"{half} {seed}")
    return [_seed(KINDS[index % len(KINDS)], half, random) for index in range(count)]


def _seed(kind: str, half: str, random: Random) -> Seed:
    if kind in _ISSUED:
        secret = shown = _ISSUED[kind](random)
        veiled = random.choice(["", "", "", "", "", "", "json", "invisible", "wide"])
        if "\n" in secret:
            veiled = random.choice(["", "json"])
        if veiled == "json":
            shown = json.dumps(secret)[1:-1]
        elif veiled == "invisible":
            at = random.randint(1, len(secret) - 1)
            shown = secret[:at] + "\u200b" + secret[at:]
        elif veiled == "wide" and not secret.startswith("http"):
            shown = "".join(chr(ord(char) + 0xFEE0) if 0x21 <= ord(char) < 0x7F else char for char in secret)
        text = random.choice(_AROUND[half]).format(shown)
        secret = shown
    else:
        secret, veiled = _NAMED[kind](random), ""
        text = random.choice(_INTRODUCED[half][kind]).format(secret)
        while kind == "password in a URL" and set(secret) & set("/@#?"):
            secret = _NAMED[kind](random)
            text = random.choice(_INTRODUCED[half][kind]).format(secret)
    before = "".join(random.choices(_TALK, k=random.randint(0, 4)))
    after = "".join(random.choices(_TALK, k=random.randint(0, 4)))
    return Seed(kind=kind, secret=secret, text=f"{before}{text} {after}" if after else f"{before}{text}", veiled=veiled)


def harmless(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Returns `count` pairs of a kind and a text that holds no secret but looks as if."""
    random = Random(f"harmless {seed}")
    made: Mapping[str, _Maker] = {
        "UUID": lambda r: (
            f"request {_of(r, _HEX, 8)}-{_of(r, _HEX, 4)}-4{_of(r, _HEX, 3)}-a{_of(r, _HEX, 3)}-{_of(r, _HEX, 12)}"
        ),
        "commit": lambda r: f"fixed in commit {_of(r, _HEX, 40)}, see also {_of(r, _HEX, 7)}",
        "SHA-256": lambda r: f"sha256:{_of(r, _HEX, 64)}",
        "integrity": lambda r: f'integrity="sha384-{b64encode(r.randbytes(48)).decode()}"',
        "ISBN": lambda r: f"ISBN 978-3-{r.randint(10, 99)}-{r.randint(100000, 999999)}-{r.randint(0, 9)}",
        "order number": lambda r: f"order number {r.randint(10**15, 10**16 - 1)} was shipped",
        "image": lambda r: f"data:image/png;base64,{b64encode(r.randbytes(900)).decode()}",
        "path": lambda r: f"/usr/lib/python3.11/site-packages/{_of(r, string.ascii_lowercase, 9)}/{_of(r, _ALNUM, 24)}.so",
        "link": lambda r: f"https://images.test/photos/{r.randint(10**6, 10**7)}/{_of(r, _HEX, 32)}.jpg?w=640&h=480",
        "password in prose": lambda r: r.choice(
            [
                *("my password is stored in the vault", "The password is required.", "password: must contain 8 characters"),
                *("the password is 12 characters long", "Passwords are hashed with bcrypt", "password is reset every 90 days"),
                *("Forgot your password? Write to help@acme.test", "password: see the wiki", "I forgot what my password was"),
            ]
        ),
        "code": lambda r: r.choice(
            [
                *("password = request.form['password']", "token = tokens[index2]", "api_key=os.environ['API_KEY_2']"),
                *('<input type="password" id="pw1">', "password: ${DB_PASSWORD_1}", "api_key: <your-api-key-1>"),
                *('"max_tokens": 4096, "stop_token_id": 50256', "def check_password(password: str, salt: bytes) -> bool:"),
                *("next_page_token = 'CAUQAA9xYZ1234567890abc'", "setPassword(getPassword2())", "secret_name: prod/db/main-1"),
            ]
        ),
        "placeholder": lambda r: r.choice(
            ["sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "password=********", "API_KEY=your_api_key_1", "ghp_" + "X" * 36]
        ),
        "date and time": lambda r: f"token: 2026-0{r.randint(1, 9)}-1{r.randint(0, 9)}T10:00:00Z",
        "identifier": lambda r: f"call_{_of(r, _ALNUM, 24)} and toolu_01{_of(r, _ALNUM, 22)} and msg_{_of(r, _ALNUM, 24)}",
        "pin": lambda r: "Pin 4 of the board is at 3300 mV, the opinion is 5000 people strong, pin the note",
        "phone and IBAN": lambda r: f"call +43 660 {r.randint(10**6, 10**7)} or DE{r.randint(10**19, 10**20 - 1)}",
    }
    kinds = tuple(made)
    return [(kinds[index % len(kinds)], made[kinds[index % len(kinds)]](random)) for index in range(count)]
