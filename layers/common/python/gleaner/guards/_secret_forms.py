"""Patterns of secrets and personal data.

They cover API keys, tokens, private keys, passwords next to their name or in a URL, e-mail addresses, phone and card
numbers, and IBANs. Every repetition is bounded, so that matching takes linear time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern and its replacement; the order of the rules matters.

    Most texts contain no secrets, and the patterns are slow. So a fast check of the case-folded text comes first: if
    it contains no hint and `shape` does not match, `pattern` cannot match.
    """

    pattern: re.Pattern[str]
    replace: Callable[[re.Match[str]], str]
    # Hints of a case-insensitive pattern omit "i": the pattern also matches the dotless i, which folding keeps.
    hints: tuple[str, ...] = ()
    shape: re.Pattern[str] | None = None  # starts with one of few characters, so that `re` can skip the others

    def may_match(self, folded: str) -> bool:
        """Return whether the pattern may match the text, given its case-folded form."""
        for hint in self.hints:  # in a third of the time that `any` takes with a generator
            if hint in folded:
                return True
        return self.shape is not None and self.shape.search(folded) is not None


def _redact_as(kind: str, accept: Callable[[str], bool] = lambda _: True) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces a match, except for its group `prefix`, if `accept` returns true."""

    def replace(match: re.Match[str]) -> str:
        prefix = match.groupdict().get("prefix") or ""
        return f"{prefix}[redacted: {kind}]" if accept(match[0]) else match[0]

    return replace


def _keep_digits(text: str) -> str:
    return "".join(c for c in text if c in "0123456789")


def _is_card(text: str) -> bool:
    """Verify the check digit of ISO/IEC 7812-1 (Luhn)."""
    digits = [int(digit) for digit in reversed(_keep_digits(text))]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """Verify the check digits of ISO 13616 (modulo 97-10 of ISO 7064)."""
    packed = text.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in packed[4:] + packed[:4])) % 97 == 1


def _is_phone(text: str) -> bool:
    return len(_keep_digits(text)) >= 8  # noqa: PLR2004 - shorter numbers with a country code do not exist


def _not_after(characters: str) -> str:
    """Start a pattern. A match may directly follow an escape such as `\\n`, although that ends in a letter."""
    return rf"(?:(?<![{characters}])|(?<=\\[nrtbf]))"


_START = _not_after("A-Za-z0-9")
# Separates a name from its value: `=`, `:`, `: "`, `': b'`, `\": \"`, ` is `.
_IS = r"""(?:\\{0,4}["']?\s{0,4}(?:=>?|:)\s{0,4}b?\\{0,4}["']?|\s{1,4}is\s{1,4}["']?)"""
_PASSWORD_NAME = r"(?:password|passwd|passphrase|passcode|pwd|passwort|kennwort)"  # noqa: S105
_KEY_NAME = (
    r"(?:(?:api|access|secret|private|account|encryption|signing)[_ -]?key(?:[_ -]?id)?"
    r"|(?<!:)secret|token|signature|credentials?)"
)
SECRET_NAME = re.compile(rf"(?:{_PASSWORD_NAME}|{_KEY_NAME}|^(?:proxy-)?authorization|^(?:set-)?cookie)$", re.I)
_NO_VALUE = r"(?!\[redacted|[<${%*]|(?:none|null|true|false|str|string|text|any)\b)"
_TOKEN = r"[A-Za-z0-9+/=_.~%-]"  # noqa: S105 - a character of a token

_VENDOR_KEYS = "|".join(
    (
        r"(?:sk|rk|pk)[-_](?=[\w-]{0,64}\d)[\w-]{16,}",  # OpenAI, Anthropic, Stripe
        r"(?:pplx|xai|tvly|gsk|nvapi)[-_](?=[\w-]{0,64}\d)[\w-]{20,}",
        r"pcsk_\w{16,}",  # Pinecone
        r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z2-7]{16}\b",  # AWS
        r"(?:gh[pousr]|github_pat)_\w{20,}",
        r"(?:glpat|glrt|gldt)-[\w-]{16,}",  # GitLab
        r"xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}",  # Slack
        r"[Tt][0-9A-Z]{6,16}/[Bb][0-9A-Z]{6,16}/\w{20,}",  # Slack webhooks
        r"\d{8,10}:AA[\w-]{30,}",  # Telegram
        r"AIza[\w-]{30,}|ya29\.[\w-]{20,}",  # Google
        r"(?:hf|npm)_(?=\w{0,64}\d)\w{20,}",
        r"pypi-[\w-]{40,}",
        r"SG\.[\w-]{16,}\.[\w-]{16,}",  # SendGrid
        r"eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]{0,4096}){0,3}",  # JSON Web Tokens (RFC 7519)
    )
)

_VENDOR_HINTS = tuple(
    "pplx xai tvly gsk nvapi pcsk_ akia asia abia acca aroa aida ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- glrt- "
    "gldt- xox xapp- aiza ya29. hf_ npm_ pypi- eyj".split()
)
_VENDOR_SHAPE = re.compile(r"k[-_][\w-]{16}|g\.[\w-]{16}|/b[0-9a-z]{6,16}/|:aa[\w-]{30}")
_PASSWORD_HINTS = ("pass", "pwd", "kennwort")
BARE = r"[^\s\"',;<>{}()\[\]\\]{3,256}"  # a value without quotes


def assigned_password(bare: str) -> Rule:
    """A password after its name and a sign; `bare` is the pattern of a value without quotes."""
    return Rule(
        re.compile(
            rf"""(?P<prefix>{_PASSWORD_NAME}\\{{0,4}}["']?\s{{0,4}}(?:=>?|:)\s{{0,4}}b?\\{{0,4}}["']?){_NO_VALUE}"""
            r"""(?:(?<=")(?:[^"\\\r\n]|\\(?!")[^\r\n]){1,256}|(?<=')(?:[^'\\\r\n]|\\[^\r\n]){1,256}|"""
            rf"""(?<!["']){bare})""",
            re.I,
        ),
        _redact_as("password"),
        hints=_PASSWORD_HINTS,
    )


def password_option(value: str) -> Rule:
    """A password after an option of a command line."""
    return Rule(
        re.compile(rf"""(?P<prefix>--{_PASSWORD_NAME}\s{{1,4}})(?!\[redacted){value}""", re.I),
        _redact_as("password"),
        hints=("--",),
    )


OPTION_VALUE = r"""[^\s"'<>${-][^\s"']{2,256}"""
ASSIGNED_PASSWORD = assigned_password(BARE)
PASSWORD_OPTION = password_option(OPTION_VALUE)

PASSWORD_IN_URL = Rule(  # user:password@
    re.compile(r"""(?P<prefix>://)[^\s/:@"'<>]{0,256}:[^\s/"'<>]{1,256}@"""),
    lambda match: f"{match['prefix']}[redacted: password]@",
    hints=("://",),
)

SECRETS = (
    Rule(
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:"
            r"(?:[^-]|-(?!----)){1,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"|(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{20,})*)"  # a truncated key: match its lines
        ),
        _redact_as("private key"),
        hints=("private key",),
    ),
    PASSWORD_IN_URL,
    Rule(
        re.compile(rf"{_START}(?:{_VENDOR_KEYS})", re.ASCII),
        _redact_as("key"),
        hints=_VENDOR_HINTS,
        shape=_VENDOR_SHAPE,
    ),
    Rule(
        re.compile(
            rf"(?P<prefix>authorization{_IS}(?:(?:basic|bearer|digest|token|apikey|negotiate)\s{{1,4}})?)"
            rf"{_NO_VALUE}(?:{_TOKEN}{{16,}}|(?<=\s){_TOKEN}{{8,}})",
            re.I,
        ),
        _redact_as("key"),
        hints=("author",),
    ),
    Rule(
        re.compile(
            rf"(?P<prefix>{_START}bearer\s{{1,4}})(?=[a-z+/=_.~%-]{{0,64}}\d|{_TOKEN}{{20}}){_TOKEN}{{8,}}", re.I
        ),
        _redact_as("key"),
        hints=("bearer",),
    ),
    Rule(
        re.compile(
            rf"""(?P<prefix>cookie{_IS})"""
            r"""(?!\[redacted|(?:samesite|max-age|expires|path|domain)\b)[^\s=;"']{1,64}=[^\r\n"'\\]{1,4096}""",
            re.I,
        ),
        _redact_as("cookie"),
        hints=("cook",),
    ),
    ASSIGNED_PASSWORD,
    Rule(  # in a sentence, where the next word may be the password
        re.compile(
            rf"""(?P<prefix>{_PASSWORD_NAME}\s{{1,4}}is:?\s{{1,4}}["']?)(?=[^\s\d]{{0,64}}\d)[^\s"',;]{{3,256}}""", re.I
        ),
        _redact_as("password"),
        hints=_PASSWORD_HINTS,
    ),
    PASSWORD_OPTION,
    Rule(
        re.compile(rf"(?P<prefix>{_KEY_NAME}{_IS}){_NO_VALUE}(?=[a-z+/=_.~%-]{{0,128}}\d){_TOKEN}{{8,}}", re.I),
        _redact_as("key"),
        shape=re.compile(
            r"""(?:key(?:[_ -]?\S{1,2}d)?|secret|token|gnature|credent\S{3,5})"""
            r"""(?:\\{0,4}["']?\s{0,4}[=:]|\s{1,4}\S{1,2}s\s)"""
        ),
    ),
)
_PERSONAL_DATA = (
    Rule(
        re.compile(rf"{_START}" r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])", re.ASCII),
        _redact_as("account number", _is_iban),
        shape=re.compile(r"[0-9][0-9](?<=[a-z]{2}..)(?: ?[a-z0-9]{4}){2}"),
    ),
    Rule(
        re.compile(
            _not_after(r"\w.,-") + r"(?:"
            r"(?:4\d{3}|5[1-5]\d{2}|2[2-7]\d{2}|6\d{3}|35\d{2})([ -]?)\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?"
            r"|3[47]\d{2}([ -]?)\d{6}\2\d{5}|3[0689]\d{2}([ -]?)\d{6}\3\d{4}"
            r")(?![\w-]|[.,]\d)",
            re.ASCII,
        ),
        _redact_as("card number", _is_card),
        shape=re.compile(r"[0-9]{4}[ -]?[0-9]{4}"),
    ),
    Rule(  # with a country code
        re.compile(
            _not_after(r"\w+")
            + r"\+(?:\d{8,15}|[1-9]\d{0,2}(?:[ .-]?\(\d{1,5}\))?(?:[ .-]?\d{1,5})(?:[ ./-]\d{2,8}){1,5})(?!\w)",
            re.ASCII,
        ),
        _redact_as("phone number", _is_phone),
        hints=("+",),
    ),
    Rule(  # national notation: (555) 123-4567, 0171 1234567, 06 12 34 56 78
        re.compile(
            _not_after(r"\w.,/+-") + r"(?:(?:\(\d{3}\) ?|(?:1[-.])?\d{3}[-.])\d{3}[-.]\d{4}"
            r"|\(0[1-9]\d{1,3}\) ?\d{3,4}[ -]?\d{3,4}"
            r"|0[1-9]\d{1,3}[ /-]\d{3,4}[ -]?\d{3,4}|0[1-9](?:[ .-]\d{2}){4})(?![\w-]|[.,]\d)",
            re.ASCII,
        ),
        _redact_as("phone number", _is_phone),
        shape=re.compile(r"[0-9][0-9](?:\) ?|[ ./-])[0-9][0-9]"),
    ),
    Rule(
        re.compile(
            r"(?P<prefix>(?:phone|telephone|tel|mobile|fax)(?: number| no)?\.?\s{0,4}(?:[:=]|is|at)?\s{0,4})"
            r"\(?\d[\d ()./-]{5,20}\d(?!\w)",
            re.I | re.ASCII,
        ),
        _redact_as("phone number"),
        hints=("phone", "tel", "mob", "fax"),
    ),
    Rule(
        re.compile(r"(?<![\w.%+-])(?!git@)[\w.%+'-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?!\w)"),
        _redact_as("e-mail address"),
        hints=("@",),
    ),
)

RULES = (*SECRETS, *_PERSONAL_DATA)  # the order matters
