"""Shows text from outside on a terminal: control characters become visible instead of having an effect."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
from typing import Any

# What moves the cursor, starts an escape sequence, reorders or hides text: C0 and C1 controls, line and paragraph
# separators, bidirectional controls (Unicode TR 36 and CVE-2021-42574), lone surrogates, and what is invisible by
# Unicode's Default_Ignorable_Code_Point: operators, fillers, tags, controls of shorthand and of music.
# The joiners U+200C and U+200D, variation selectors, U+034F and the soft hyphen stay: scripts and emoji need them.
_CONTROLS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_IN_BLOCK = re.compile(f"[{_CONTROLS}]")
_IN_LINE = re.compile(rf"[\t\n{_CONTROLS}]")
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
_ASCII_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F)}
_NAMES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def show_line(text: str) -> str:
    """One line of text with its controls escaped, such as `\\x1b`; line breaks are controls, too."""
    return _IN_LINE.sub(_escape, text)


def show_block(text: str) -> str:
    """Several lines of text with their controls escaped, except line breaks and tabs."""
    return _IN_BLOCK.sub(_escape, text.replace("\r\n", "\n"))


def show_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Decoded JSON with each string as one line with its controls escaped."""
    return {name: _show_value(value) for name, value in fields.items()}


def format_json(value: object) -> str:
    """JSON for people and programs: the controls in its strings are escaped as JSON does it."""
    return _IN_BLOCK.sub(_escape_json, json.dumps(value, indent=2, ensure_ascii=False))


def give_up_output(error: OSError) -> bool:
    """Say that standard output cannot be written, and write no more; False if the error is another one."""
    if error.errno not in _OUTPUT_ERRORS:
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at the exit
    if error.errno != errno.EPIPE:  # nobody reads on, as with `| head`
        print(f"The output cannot be written: {error.strerror}.", file=sys.stderr)
    return True


def _show_value(value: Any) -> Any:
    if isinstance(value, str):
        return show_line(value)
    if isinstance(value, dict):
        return show_fields(value)
    return [_show_value(item) for item in value] if isinstance(value, list) else value


def _escape(match: re.Match[str]) -> str:
    return _NAMES.get(match[0]) or match[0].encode("ascii", "backslashreplace").decode().translate(_ASCII_CONTROLS)


def _escape_json(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1].replace("\x7f", "\\u007f")
