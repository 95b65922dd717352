"""Redacts secrets and personal data in what operators read: records, logs, errors and traces.

Known forms are found by pattern (`_secret_forms`), the service's own keys by their value. A secret without a known
form, without a name next to it and not registered looks like any other text, and stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from gleaner.guards._search_secrets import SEARCH_RULES
from gleaner.guards._secret_forms import RULES, SECRET_NAME, Rule

# Shorter values may occur in ordinary text by chance.
_MIN_PROTECTED_LENGTH = 8

_UNICODE_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})")

_PLACEHOLDER = re.compile(r"\[redacted: [a-z -]{1,20}\]")

_LISTS = (list, tuple, set, frozenset)
_PLAIN = (int, float, type(None))  # what JSON writes without quotes; bool is an int
_HIDDEN = "[redacted: password]"  # whatever it is

_protected: tuple[str, ...] = ()  # longest first, so that a secret is redacted before another one that it contains


def protect(secrets: Iterable[str | None]) -> None:
    """Redact these values, too, wherever they occur, for the life of the process."""
    global _protected  # noqa: PLW0603 - one per process, like the logs that it protects
    values = {secret for secret in secrets if secret and len(secret) >= _MIN_PROTECTED_LENGTH}
    if not values.issubset(_protected):
        _protected = tuple(sorted(values.union(_protected), key=len, reverse=True))


def redact(text: str) -> str:
    """Replace each secret and each piece of personal data in `text` with `[redacted: its kind]`."""
    return _redact_by(RULES, text)


def redact_secrets(search: str) -> str:
    """Replace each secret in a search text, which leaves the service; personal data stays, as it may be the topic.

    "password: appears twice" is an error message here: a word after the name of a secret is redacted only if it looks
    like a value.
    """
    return _redact_by(SEARCH_RULES, search)


def _redact_by(rules: Iterable[Rule], text: str) -> str:
    for secret in _protected:
        text = text.replace(secret, "[redacted: key]")
    folded = text.casefold()
    for rule in rules:
        if rule.may_match(folded) and (redacted := rule.pattern.sub(rule.replace, text)) != text:
            text, folded = redacted, redacted.casefold()
    return text


def drop_placeholders(redacted: str) -> str:
    """Replace each placeholder of `redact` with a full stop, so that its words are not taken for those of the text."""
    return _PLACEHOLDER.sub(".", redacted)


def redact_value(value: object) -> object:
    """Convert `value` to JSON types, and redact its strings and the values of fields named like secrets."""
    return _redact_value(_choose_rules(_strings(value)), value)


def redact_all(texts: Sequence[str]) -> list[str]:
    """Redact each of `texts`, as `redact` does."""
    rules = _choose_rules(texts)
    return [_redact_by(rules, text) for text in texts]


def _choose_rules(texts: Iterable[str]) -> list[Rule]:
    """The rules that may match one of `texts`. A record has a hundred texts, and most rules match none of them."""
    everything = "\n".join(texts).casefold()
    return [rule for rule in RULES if rule.may_match(everything)]


def redact_json(text: str) -> str:
    """Redact JSON text, including what its escapes would hide. Other text is redacted as it is.

    JSON without secrets is returned unchanged.
    """
    try:
        value = json.loads(text)
        redacted = redact_json(value) if isinstance(value, str) else redact_value(value)
    except (ValueError, RecursionError):
        return _redact_broken(text)
    shown = json.dumps(redacted, ensure_ascii=False)
    # Check the original text, too: of duplicate keys the parser keeps only one.
    if shown != text and redacted == value and redact(text) == text:
        return text
    return shown


def _redact_broken(text: str) -> str:
    shown = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    redacted = redact(shown)
    return redact(text) if redacted == shown else redacted


def _strings(value: object) -> list[str]:
    """All strings in a value, with the names of its fields."""
    found: list[str] = []
    _collect(value, found)
    return found


def _collect(value: object, found: list[str]) -> None:
    if isinstance(value, str):
        found.append(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            found.append(str(name))
            _collect(item, found)
    elif isinstance(value, _LISTS):
        for item in value:
            _collect(item, found)
    elif not isinstance(value, _PLAIN):
        found.append(str(value))


def _redact_value(rules: Sequence[Rule], value: object) -> object:
    if isinstance(value, str):  # most values are, and the next check is slow
        return _redact_by(rules, value)
    if isinstance(value, Mapping):
        return {
            _redact_by(rules, str(name)): _HIDDEN
            if isinstance(item, str) and item and SECRET_NAME.search(str(name))
            else _redact_value(rules, item)
            for name, item in value.items()
        }
    if isinstance(value, _LISTS):
        return [_redact_value(rules, item) for item in value]
    return value if isinstance(value, _PLAIN) else _redact_by(rules, str(value))
