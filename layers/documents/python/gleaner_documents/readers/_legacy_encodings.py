"""Recognizes text in an older encoding, for kinds of files that programs still write in one."""

from __future__ import annotations

import codecs
import re

_GB18030_MARK = b"\x84\x31\x95\x33"
_SAMPLE_BYTES = 1 << 20
# What Western European text in Windows-1252 holds beyond ASCII.
_WESTERN = "äöüÄÖÜßéèêëÉÈÊËáàâãåÁÀÂÃÅçÇñÑíìîïÍÌÎÏóòôõÓÒÔÕúùûÚÙÛæÆøØœŒ"
_SIGNS = "€£¥§©®°±²³µ·«»¿¡½¼¾ªº×÷–—‘’“”„‚•…™\u00a0"
_HIGH = re.compile(r"[^\x00-\x7f]")
# A sign within a word, except an apostrophe or a dash, is a letter of another encoding: "Bia³ystok", "Jal·pan".
_WITHIN_WORD = re.compile(r"[^\W\d_](?![’–—\u00a0])[€£¥§©®°±²³µ«»¿¡½¼¾×÷][^\W\d_]")


def guess_encoding(data: bytes) -> str | None:
    """The encoding of `data` if it is not UTF-8 and there is little doubt, else None.

    GB18030 is known by its byte order mark, Windows-1252 by text that has only Western European letters where it has
    any beyond ASCII. Anything else stays undecided: text in a wrong encoding would be stored as if it were right.
    """
    if data.startswith(_GB18030_MARK):
        return "gb18030"
    if data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    try:
        text = data[:_SAMPLE_BYTES].decode("windows-1252")
    except UnicodeDecodeError:
        return None
    letters = set(_HIGH.findall(text))
    words = re.findall(r"[^\W\d_]*[^\x00-\x7f\W\d_]+[^\W\d_]*", text)
    foreign = sum(1 for word in words if len(_HIGH.findall(word)) > max(2, len(word) // 2))
    if letters <= set(_WESTERN + _SIGNS) and not _WITHIN_WORD.search(text) and foreign * 20 <= len(words):
        return "windows-1252"
    return None
