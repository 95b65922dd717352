"""Takes secrets and personal data out of what is written for operators: records, logs, errors, traces.

What has a known form is found by its form (`secret_forms`), the service's own keys by their value. A secret that has
neither a form nor a name beside it nor was registered cannot be told from other text, and stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from gleaner.guards._secret_forms import RULES, SECRET_NAME

# Shorter values stand in ordinary text by accident.
_SHORTEST_PROTECTED = 8

_UNICODE_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})")

_protected: tuple[str, ...] = ()  # the longest first, so that none is cut by another that it contains


def protect(secrets: Iterable[str | None]) -> None:
    """Redact these values, too, wherever they stand, for the life of the process."""
    global _protected  # noqa: PLW0603 - as the logs that it guards, one for the process
    added = {secret for secret in secrets if secret and len(secret) >= _SHORTEST_PROTECTED}
    if not added.issubset(_protected):
        _protected = tuple(sorted(added.union(_protected), key=len, reverse=True))


def redact(text: str) -> str:
    """`text` with each secret and each piece of personal data replaced by `[redacted: its kind]`."""
    for secret in _protected:
        text = text.replace(secret, "[redacted: key]")
    folded = text.casefold()
    for rule in RULES:
        if rule.may_match(folded) and (redacted := rule.pattern.sub(rule.replace, text)) != text:
            text, folded = redacted, redacted.casefold()
    return text


def redact_value(value: object) -> object:
    """`value` as JSON knows it, with its texts redacted, and what stands under the name of a secret."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {redact(str(name)): _redact_named(str(name), item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [redact_value(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return redact(str(value))


def redact_json(text: str) -> str:
    """JSON text, redacted: also what its escapes would hide. What is no JSON is redacted as it stands.

    JSON that holds nothing to redact comes back as it was written.
    """
    try:
        value = json.loads(text)
        redacted = redact_json(value) if isinstance(value, str) else redact_value(value)
    except (ValueError, RecursionError):
        return _redact_broken(text)
    shown = json.dumps(redacted, ensure_ascii=False)
    # Both are asked where they differ: of two equal names the parser keeps one only.
    if shown != text and redacted == value and redact(text) == text:
        return text
    return shown


def _redact_broken(text: str) -> str:
    shown = _UNICODE_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    redacted = redact(shown)
    return redact(text) if redacted == shown else redacted


def _redact_named(name: str, value: object) -> object:
    if isinstance(value, str) and value and SECRET_NAME.search(name):
        return "[redacted: password]"
    return redact_value(value)
