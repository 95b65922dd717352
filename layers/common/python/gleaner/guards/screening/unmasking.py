"""Reads a text through its disguises: encodings, look-alike letters, spacing, digits for letters.

Readings only serve detection; tools work on the text itself.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from urllib.parse import unquote

from gleaner.text import cut_marks

_ESCAPE = re.compile(r"\\(?:r\\n|x([0-9a-f]{2})|u([0-9a-f]{4})|([nrt])(?![a-z]))", re.IGNORECASE)
_OVERLONG = re.compile(r"%c([01])%([89ab][0-9a-f])", re.IGNORECASE)  # an ASCII character as two bytes of UTF-8
_LINE_ENDS = str.maketrans(dict.fromkeys("\r\v\f\x85\u2028\u2029", "\n"))  # readers begin a line behind each of them
_COMMENT = re.compile(r"/\*!?\d{0,5}|\*/")  # between the words of a statement
_ACCENT = re.compile("[\u0300-\u036f\u064b-\u065f]")
# Cyrillic and Greek letters that look like Latin ones (Unicode Technical Standard 39, confusables), and capitals in
# other styles.
_LOOK_ALIKE = str.maketrans("асеорхуіјѕһԁɡӏмтвнкαεινορτυχı", "aceopxyijshdglmtbhkaeivoptuxi")
_CAPITALS = str.maketrans("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz") | {
    first + place: chr(ord("a") + place)
    for first in (0x1F150, 0x1F170)  # white on black, in circles and in squares
    for place in range(26)
}
_WORD = re.compile(r"\w+")
_LATIN = re.compile("[a-z]")
_SPACED_OUT = re.compile(r"(?<!\w)\w(?:[ ._*-]\w(?!\w)){5,}")
_SPACED_GAP = re.compile(r"[ ._*-]")
_JOINT = re.compile(r"(?<=[a-z])[-_+*.~|](?=[a-z])")
_HUMPS = re.compile(r"(?:[A-Z][a-z]+){3,}")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_REVERSED = re.compile(r"snoitcurtsni|tpmorp|senilediug")
_DIGITS = str.maketrans("0134578@$", "oieastbas")
_DIGIT_WORD = re.compile(r"(?<![\w.@$])(?=[\w@$]*[a-z])(?=[a-z]*[\d@$])[\w@$]+")
_BLOB = re.compile(r"(?<![\w+/=-])[\w+/-]{24,}={0,2}", re.ASCII)


def read_plain(text: str) -> str:
    """Return `text` in NFKC without case and accents, decoded, and with Latin letters in words of mixed scripts."""
    decoded = html.unescape(unquote(unquote(_OVERLONG.sub(_decode_overlong, text), errors="ignore"), errors="ignore"))
    return _simplify(_COMMENT.sub(" ", _ESCAPE.sub(_unescape, decoded)).translate(_LINE_ENDS))


def read_disguised(text: str, plain: str) -> list[str]:
    """Return the readings that differ from the plain one.

    They undo spaced letters, joined words, digits for letters, reversed text, base64 and hexadecimal.
    """
    readings = [
        _SPACED_OUT.sub(lambda run: _SPACED_GAP.sub("", run[0]), plain),
        _JOINT.sub("", plain),
        _JOINT.sub(" ", plain),
        _DIGIT_WORD.sub(lambda word: word[0].translate(_DIGITS), plain),
        _simplify(_HUMPS.sub(lambda word: _HUMP.sub(" ", word[0]), text)) if _HUMPS.search(text) else plain,
        plain[::-1] if _REVERSED.search(plain) else plain,
        *(_simplify(decoded) for decoded in map(_decode, _BLOB.findall(text)) if decoded),
    ]
    return [reading for reading in dict.fromkeys(readings) if reading != plain]


def _simplify(text: str) -> str:
    letters = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", cut_marks(text)).casefold())
    composed = unicodedata.normalize("NFC", _ACCENT.sub("", letters))
    return composed if composed.isascii() else _WORD.sub(_latinize, composed.translate(_CAPITALS))


def _latinize(word: re.Match[str]) -> str:
    return word[0].translate(_LOOK_ALIKE) if _LATIN.search(word[0]) else word[0]


def _decode_overlong(overlong: re.Match[str]) -> str:
    return chr(int(overlong[1]) << 6 | int(overlong[2], 16) & 0x3F)


def _unescape(escape: re.Match[str]) -> str:
    byte, unit, letter = escape.groups()
    if not (byte or unit or letter):
        return "\n"
    return {"n": "\n", "r": "\r", "t": "\t"}[letter.lower()] if letter else chr(int(byte or unit, 16))


def _decode(blob: str) -> str:
    """Decode hexadecimal or base64 text; return an empty string if it is neither."""
    try:
        return bytes.fromhex(blob).decode()
    except ValueError:
        pass
    digits = blob.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
