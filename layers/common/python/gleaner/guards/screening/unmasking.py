"""Readings of a text under its disguises: encodings, look-alike letters, spacing, digits for letters.

Readings serve to recognise only; what a tool works on is the text itself.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
from urllib.parse import unquote

_ESCAPE = re.compile(r"\\(?:r\\n|x([0-9a-f]{2})|u([0-9a-f]{4})|([nrt])(?![a-z]))", re.IGNORECASE)
_OVERLONG = re.compile(r"%c([01])%([89ab][0-9a-f])", re.IGNORECASE)  # UTF-8 of two bytes for an ASCII character
_COMMENT = re.compile(r"/\*!?\d{0,5}|\*/")  # between the words of a statement
_ACCENT = re.compile("[\u0300-\u036f\u064b-\u065f]")
# Cyrillic and Greek letters that look like Latin ones (Unicode Technical Standard 39, confusables), and capitals of
# other sizes and colours.
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


def plain(text: str) -> str:
    """`text` in NFKC without case and accents, with its escapes and entities decoded and its letters Latin if mixed."""
    decoded = html.unescape(unquote(unquote(_OVERLONG.sub(_ascii, text), errors="ignore"), errors="ignore"))
    return _simplified(_COMMENT.sub(" ", _ESCAPE.sub(_unescaped, decoded)))


def disguised(text: str, reading: str) -> list[str]:
    """Further readings, where there are any: spaced letters, joined words, digits for letters, backwards, base64, hex.

    `reading` is the plain one.
    """
    readings = [
        _SPACED_OUT.sub(lambda run: _SPACED_GAP.sub("", run[0]), reading),
        _JOINT.sub("", reading),
        _JOINT.sub(" ", reading),
        _DIGIT_WORD.sub(lambda word: word[0].translate(_DIGITS), reading),
        _simplified(_HUMPS.sub(lambda word: _HUMP.sub(" ", word[0]), text)) if _HUMPS.search(text) else reading,
        reading[::-1] if _REVERSED.search(reading) else reading,
        *(_simplified(found) for found in map(_decoded, _BLOB.findall(text)) if found),
    ]
    return [other for other in dict.fromkeys(readings) if other != reading]


def _simplified(text: str) -> str:
    letters = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    composed = unicodedata.normalize("NFC", _ACCENT.sub("", letters))
    return composed if composed.isascii() else _WORD.sub(_in_one_script, composed.translate(_CAPITALS))


def _in_one_script(word: re.Match[str]) -> str:
    return word[0].translate(_LOOK_ALIKE) if _LATIN.search(word[0]) else word[0]


def _ascii(overlong: re.Match[str]) -> str:
    return chr(int(overlong[1]) << 6 | int(overlong[2], 16) & 0x3F)


def _unescaped(escape: re.Match[str]) -> str:
    byte, unit, letter = escape.groups()
    if not (byte or unit or letter):
        return "\n"
    return {"n": "\n", "r": "\r", "t": "\t"}[letter.lower()] if letter else chr(int(byte or unit, 16))


def _decoded(blob: str) -> str:
    """The text in hexadecimal or base64, or nothing."""
    try:
        return bytes.fromhex(blob).decode()
    except ValueError:
        pass
    whole = blob.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(whole + "=" * (-len(whole) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
