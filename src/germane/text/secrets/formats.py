"""Formats: the secrets that are recognised by their form alone: keys with a provider's prefix, card numbers.

The formats are facts that the providers publish; a new one is a line in `FORMATS`. Each expression is tried only where no
letter or digit stands before it, and each of its repeats is bounded, so that the search takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

FORMATS: tuple[tuple[str, str], ...] = (
    ("AWS access key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("Google API key", r"AIza[\w-]{35}(?![\w-])"),
    ("Google OAuth token", r"ya29\.[\w-]{20,2000}+"),
    ("Google client secret", r"GOCSPX-[\w-]{28}(?![\w-])"),
    ("GitHub token", r"gh[pousr]_[A-Za-z0-9]{36,255}+|github_pat_[A-Za-z0-9_]{60,255}+"),
    ("GitLab token", r"gl(?:pat|dt|rt|ptt|cbt|oas|soat|ft|imt|agent|ffct)-[\w-]{20,300}+(?:\.[\w-]{2,64}+){0,3}+"),
    ("Slack token", r"(?:xox[abeoprs]|xoxe\.xox[bp])-(?=[A-Za-z-]{0,30}\d)[A-Za-z0-9-]{10,400}+|xapp-\d-[A-Za-z0-9-]{20,400}+"),
    ("Slack webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/-]{20,300}+"),
    ("Stripe key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,250}+|whsec_[A-Za-z0-9+/=]{24,200}+"),
    ("Anthropic API key", r"sk-ant-[\w-]{24,300}+"),
    ("OpenRouter API key", r"sk-or-[\w-]{24,200}+"),
    ("OpenAI API key", r"sk-(?:proj|svcacct|admin|None)-[\w-]{20,400}+|sk-[A-Za-z0-9]{32,64}+(?![\w-])"),
    ("Hugging Face token", r"hf_[A-Za-z0-9]{30,100}+|api_org_[A-Za-z0-9]{30,100}+"),
    ("npm token", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    ("PyPI token", r"pypi-[\w-]{60,400}+"),
    ("SendGrid API key", r"SG\.[\w-]{16,32}+\.[\w-]{32,64}+"),
    ("Twilio API key", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("Discord token", r"[MNO][\w-]{23,27}+\.[\w-]{6,7}+\.[\w-]{27,45}+"),
    ("Discord webhook", r"discord(?:app)?\.com/api/webhooks/\d{16,21}+/[\w-]{40,100}+"),
    ("Telegram bot token", r"\d{8,10}+:AA[\w-]{32,34}+(?![\w-])"),
    ("JWT", r"eyJ[\w-]{8,4000}+\.eyJ[\w-]{8,4000}+\.[\w-]{10,1000}+"),
    ("Azure client secret", r"[\w~.-]{3}\dQ~[\w~.-]{31,34}+"),
    ("Azure storage key", r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{43,86}+={1,2}+"),
    ("Azure SAS signature", r"sig=[A-Za-z0-9%+/]{40,120}+={0,2}+"),
    ("DigitalOcean token", r"do[opr]_v1_[a-f0-9]{64}"),
    ("Shopify token", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    ("Square token", r"sq0(?:atp|csp|idp)-[\w-]{22,60}+|EAAA[\w-]{60}(?![\w-])"),
    ("Mailgun API key", r"key-[0-9a-f]{32}(?![A-Za-z0-9])"),
    ("Mailchimp API key", r"[0-9a-f]{32}-us\d{1,2}+(?!\w)"),
    ("Databricks token", r"dapi[0-9a-f]{32}(?:-\d)?+(?!\w)"),
    ("Linear API key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}+"),
    ("Notion token", r"ntn_[A-Za-z0-9]{40,60}+|secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("Figma token", r"figd_[\w-]{36,60}+"),
    ("Doppler token", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,80}+"),
    ("Vault token", r"hv[sbr]\.[\w-]{24,200}+"),
    ("Terraform token", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,80}+"),
    ("Pulumi token", r"pul-[a-f0-9]{40}"),
    ("Grafana token", r"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{32,400}+"),
    ("New Relic key", r"NRAK-[A-Z0-9]{27}"),
    ("Sentry token", r"sntry[su]_[\w+/=-]{40,400}+"),
    ("Docker token", r"dckr_(?:pat|oat)_[\w-]{27,60}+"),
    ("RubyGems key", r"rubygems_[a-f0-9]{48}"),
    ("Postman API key", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("Atlassian token", r"AT[AC]TT3[\w=-]{60,400}+"),
    ("Airtable token", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("Replicate token", r"r8_[A-Za-z0-9]{37}(?![A-Za-z0-9])"),
    ("Groq API key", r"gsk_[A-Za-z0-9]{40,64}+"),
    ("xAI API key", r"xai-[A-Za-z0-9]{70,100}+"),
    ("Perplexity API key", r"pplx-[A-Za-z0-9]{40,64}+"),
    ("LangSmith key", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    ("Pinecone API key", r"pcsk_[A-Za-z0-9_]{50,100}+"),
    ("Tailscale key", r"tskey-[a-z]{3,12}+-[A-Za-z0-9-]{16,80}+"),
    ("Supabase token", r"sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,60}+"),
    ("PlanetScale token", r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,64}+"),
    ("Heroku API key", r"HRKU-AA[\w-]{50,70}+"),
    ("1Password token", r"ops_eyJ[\w-]{40,2000}+={0,2}+"),
    ("Dropbox token", r"sl\.[\w-]{130,200}+"),
    ("Alibaba Cloud key", r"LTAI[A-Za-z0-9]{20}(?![A-Za-z0-9])"),
    ("Fly.io token", r"fm[12][a-z]?_[A-Za-z0-9+/=_-]{80,2000}+"),
    ("age secret key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("germane API key", r"gk_[a-z2-7]{16}_[a-z2-7]{52}(?![a-z0-9])"),
)
"""The kind of each secret, as markers and reports name it, and its form."""

_BEFORE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"
"""Where a secret may begin: not within a word, but behind an escaped line end, or behind a character that a URL escapes."""
_ANY = re.compile(_BEFORE + "(?:" + "|".join(f"({form})" for _, form in FORMATS) + ")", re.ASCII)
_RUN = re.compile("[A-Za-z0-9_-]{16}|Q~")
"""What every one of them holds; most other words don't."""
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = "-----END"
_END_LINE = re.compile(r"-----END[A-Z0-9 ]{1,60}-----")
_BODY = re.compile(r"(?:[A-Za-z0-9+/=\s:,.>-]|\\[nr\\])*+")
_PUTTY = re.compile(r"Private-Lines: ?\d{1,4}+((?:\s|\\[nr])[A-Za-z0-9+/=\s\\]{20,8000}+)")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
_MAX_DISTANCE = 160
"""Characters behind an AWS access key in which its secret key is looked for."""
_MAX_KEY = 32_768
"""Characters of the longest private key block."""
_MIN_VARIETY = 8
"""Different characters that a secret has at least: `ghp_xxxx…` and `AKIA0000…` are placeholders."""


def by_format(text: str, start: int, end: int) -> Iterator[FoundSecret]:
    """Yields the secrets in `text[start:end]` that are recognised by their form, with the secret key behind an AWS access key.
    Takes linear time."""
    if _RUN.search(text, start, end) is None:
        return
    for match in _ANY.finditer(text, start, end):
        if len(set(match[0])) < _MIN_VARIETY:
            continue
        kind = FORMATS[(match.lastindex or 1) - 1][0]
        yield FoundSecret(kind, match.start(), match.end())
        secret = _AWS_SECRET.search(text, match.end(), match.end() + _MAX_DISTANCE) if kind == "AWS access key" else None
        if secret is not None and secret[0].upper() != secret[0] != secret[0].lower():
            yield FoundSecret("AWS secret key", secret.start(), secret.end())


def private_keys(text: str) -> Iterator[FoundSecret]:
    """Yields private keys in PEM, OpenSSH, PGP and PuTTY form, with their first and last line; of a key whose end is missing,
    what looks like one. Takes linear time."""
    closing = 0
    for match in _PRIVATE_KEY.finditer(text) if "PRIVATE KEY" in text else ():
        if 0 <= closing < match.end():
            closing = text.find(_END, match.end())
        end = 0
        if match.end() <= closing <= match.end() + _MAX_KEY and (line := _END_LINE.match(text, closing)):
            end = line.end()
        yield FoundSecret("private key", match.start(), end or _body_end(text, match.end()))
    for match in _PUTTY.finditer(text) if "Private-Lines" in text else ():
        yield FoundSecret("private key", match.start(1), match.end(1))


def _body_end(text: str, start: int) -> int:
    found = _BODY.match(text, start, start + _MAX_KEY)
    return start if found is None else start + len(found[0].rstrip())


# Numbers of payment cards, by their length, their first digits and their check digit (Luhn, ISO/IEC 7812). One order
# number of sixteen digits in ten has a right check digit too, so a number written in one run counts only where a word
# before it says what it is.


_NUMBER = re.compile(r"(?<![\d-])(?<!\d[.,])[2-6]\d{3}(?:([ -])(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{5})|\d{11,12})(?![\d-]|[.,]\d)")
_SAYS = re.compile(
    r"card|karte|carte|tarjeta|cart[aã]o|visa|amex|american express|maestro|(?<![a-z])cc(?![a-z])|карт|卡", re.IGNORECASE
)
_MAX_BEFORE_CARD = 60
"""Characters before a number in which a word says that it is a card's."""
_ISSUED = re.compile(
    r"4\d{15}|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|2720\d{12}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}"
)


def by_luhn(text: str) -> Iterator[FoundSecret]:
    """Yields the numbers of payment cards. Takes linear time."""
    for match in _NUMBER.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        if not _ISSUED.fullmatch(digits) or not _checked(digits):
            continue
        if match[1] or _SAYS.search(text, max(0, match.start() - _MAX_BEFORE_CARD), match.start()):
            yield FoundSecret("card number", match.start(), match.end())


def _checked(digits: str) -> bool:
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return len(set(digits)) > 1 and sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


# What is found of a secret, without the secret itself.


class FoundSecret(NamedTuple):
    """`kind` is a name for people, such as `AWS access key`; the secret is `text[start:end]`."""

    kind: str
    start: int
    end: int
