"""Patterns of secrets in search texts: as in `_secret_forms`, but words of error messages about secrets are none."""

from __future__ import annotations

import re

from gleaner.guards._secret_forms import (
    ASSIGNED_PASSWORD,
    BARE,
    OPTION_VALUE,
    PASSWORD_IN_URL,
    PASSWORD_OPTION,
    SECRETS,
    Rule,
    assigned_password,
    password_option,
)

_LOOKS_REAL = r"(?=[^\s\d!@#$%^&*]{0,256}[\d!@#$%^&*])"
_NO_ERROR = (
    r"(?!(?:required|invalid|incorrect|missing|wrong|empty|undefined|nil|yes|no|prompt|authentication|hash\w*)\b)"
)
# Directly after its sign, with a digit or a symbol, or at the end of a line: "password: appears twice" has none.
_VALUE = rf"(?:(?<=[=:]){BARE}|{_LOOKS_REAL}{BARE}|{_NO_ERROR}{BARE}(?=[ \t]{{0,10}}(?:\n|$)))"
_LAST = r"(?=\S{1,256}\s{0,10}(?:$|[<|]|-))"  # before another option, a pipe or the end
# `user:pass@host` in a question about addresses.
_PLACEHOLDER = re.compile(r"^://[^:]*:(?:pass(?:word|wd)?|pwd|secret|x{2,}|\*{2,}|\.{3}|[<${\[][^@]*)@", re.I)


def _redact_real_password(match: re.Match[str]) -> str:
    return match[0] if _PLACEHOLDER.search(match[0]) else PASSWORD_IN_URL.replace(match)


_IN_SEARCH = {
    PASSWORD_IN_URL: Rule(PASSWORD_IN_URL.pattern, _redact_real_password, hints=PASSWORD_IN_URL.hints),
    ASSIGNED_PASSWORD: assigned_password(_VALUE),
    PASSWORD_OPTION: password_option(rf"(?:{_LOOKS_REAL}|{_LAST}){OPTION_VALUE}"),
}
# Personal data is no secret here: it may be what is searched for.
SEARCH_RULES = tuple(_IN_SEARCH.get(rule, rule) for rule in SECRETS)
