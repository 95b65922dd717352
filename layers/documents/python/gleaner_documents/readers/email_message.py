"""Reads e-mail messages (EML): who wrote what to whom, and when; quoted messages stand in a part of their own."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

from gleaner_documents.model import BrokenFile, Document
from gleaner_documents.readers._legacy_encodings import guess_encoding
from gleaner_documents.readers._sections import SectionCollector, shorten
from gleaner_documents.readers._wrapped_lines import join_wrapped_lines
from gleaner_documents.readers.html import collect_sections, parse_html

_SHOWN_HEADERS = ("From", "To", "Cc", "Date")
_QUOTED = "Quoted message"
_MAX_DEPTH = 5  # of messages within messages
_MAX_HEADER_CHARS = 500  # a list of recipients can be longer than the message
# The line above a quotation: "On Monday, Ada wrote:" in the languages of common programs, and Outlook's.
_INTRODUCTION = re.compile(
    r"(?:On|Am|Le|El|Il|Em|Op|Den|Dne|Dnia|W dniu)\b[^\n]{5,200}\n?[^\n]{0,100}:[ \t]*\Z"
    r"|[^\n]{3,200}(?:wrote|schrieb[^\n]*|a écrit|escribió|ha scritto|escreveu|schreef[^\n]*|写道|пишет)"
    r"\s?[:：][ \t]*\Z",
    re.IGNORECASE,
)
_OUTLOOK = re.compile(
    r"^(?:-{2,} ?(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original|Forwarded message)"
    r" ?-{2,}|_{20,}\n(?=\*?(?:From|Von|De):)).*",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_QUOTE_SIGNS = re.compile(r"^(?:> ?)+", re.MULTILINE)
# Charset names that mail programs use for supersets of these encodings (WHATWG Encoding, "Names and labels").
_SUPERSETS = {"us-ascii": "utf-8", "ascii": "utf-8", "iso-8859-1": "windows-1252", "gb2312": "gb18030",
              "gbk": "gb18030", "ks_c_5601-1987": "cp949", "euc-kr": "cp949", "shift_jis": "cp932"}  # fmt: skip


def read_email(source_file_path: str, data: bytes, *, fallback_title: str, source_url: str | None = None) -> Document:
    """The message; its title is the subject, else `fallback_title`. Attachments are named. Raises BrokenFile."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    if not isinstance(message, EmailMessage) or not any(message[name] for name in ("From", "Date", "Subject", "To")):
        raise BrokenFile(source_file_path, "is no e-mail message: it has no headers")
    collector = SectionCollector()
    title = _add_message(collector, message, depth=0)
    return Document(
        source_file_path=source_file_path,
        title=title or fallback_title,
        sections=tuple(collector.sections),
        source_url=source_url,
    )


def _add_message(collector: SectionCollector, message: EmailMessage, *, depth: int) -> str:
    """Add a message and the messages that it holds. Returns its subject."""
    subject = shorten(_header(message, "Subject"))
    collector.open_section(depth + 1, subject)
    headers = [f"{name}: {text}" for name in _SHOWN_HEADERS if (text := _header(message, name))]
    attachments = [name for part in _attachments(message) if (name := _header_text(part.get_filename()))]
    if attachments:
        headers.append(f"Attachments: {', '.join(attachments)}")
    own, quoted = _split_quotation(_body(message))
    collector.add_text("\n\n".join(filter(str.strip, ("\n".join(headers), own))))
    if quoted:
        collector.open_section(depth + 2, _QUOTED)
        collector.add_text(quoted)
    if depth < _MAX_DEPTH:
        for part in _attachments(message):
            for inner in part.iter_parts() if part.get_content_type() == "message/rfc822" else ():
                if isinstance(inner, EmailMessage):
                    _add_message(collector, inner, depth=depth + 1)
    return subject


def _header(message: EmailMessage, name: str) -> str:
    """A header's decoded text on one line; dates in a form that everybody reads alike."""
    text = _header_text(message[name])
    if name == "Date":
        try:
            return f"{parsedate_to_datetime(text):%Y-%m-%d %H:%M %z}".rstrip()
        except (ValueError, TypeError):
            return text
    return text if len(text) <= _MAX_HEADER_CHARS else text[:_MAX_HEADER_CHARS].rpartition(" ")[0] + " …"


def _header_text(value: object) -> str:
    return " ".join(str(value or "").encode("utf-8", "replace").decode().split())


def _attachments(message: EmailMessage) -> Iterator[EmailMessage]:
    """The parts that are attached, and messages within the message; pictures that the text shows have no say."""
    for part in message.walk() if not _is_message(message) else ():
        if part is message or not isinstance(part, EmailMessage):
            continue
        if part.get_content_type() == "message/rfc822" or part.get_content_disposition() == "attachment":
            yield part


def _is_message(part: EmailMessage) -> bool:
    return part.get_content_type() == "message/rfc822"


def _body(message: EmailMessage) -> str:
    """The text that the writer's program shows: the plain part, or the HTML part if there is no plain one."""
    part = message.get_body(preferencelist=("plain", "html"))
    if not isinstance(part, EmailMessage):
        return ""
    text = _decode(part)
    if part.get_content_type() == "text/plain" and not text.strip():
        part = message.get_body(preferencelist=("html",)) or part
        text = _decode(part) if isinstance(part, EmailMessage) else ""
    if part.get_content_type() == "text/html":
        return "\n\n".join(section.text for section in collect_sections(parse_html(text)).sections)
    is_flowed = part.get_param("format", "") == "flowed"
    return _unflow(text) if is_flowed else join_wrapped_lines(text)


def _decode(part: EmailMessage) -> str:
    """The part's text in its charset, or in one that it can be if the message states none or a wrong one."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    stated = (part.get_content_charset() or "utf-8").lower()
    for charset in (_SUPERSETS.get(stated, stated), "utf-8", guess_encoding(data) or "utf-8"):
        try:
            return data.decode(charset).replace("\r\n", "\n").replace("\0", "")
        except (LookupError, UnicodeDecodeError):
            continue
    return data.decode("windows-1252", "replace").replace("\r\n", "\n").replace("\0", "")


def _unflow(text: str) -> str:
    """Join the lines that end with a space (RFC 3676); the signature's "-- " is none of them."""
    return re.sub(r"(?<!^--) \n(?![>\s])", " ", text, flags=re.MULTILINE)


def _split_quotation(text: str) -> tuple[str, str]:
    """What the writer wrote, and the messages quoted in it; answers between quoted lines stay with the first."""
    forwarded = _OUTLOOK.search(text)
    if forwarded and text[: forwarded.start()].strip():
        own, quoted = text[: forwarded.start()], forwarded.group()
        return own.strip("\n"), _QUOTE_SIGNS.sub("", quoted).strip()
    lines = text.rstrip().split("\n")
    start = len(lines)
    while start and (lines[start - 1].startswith(">") or not lines[start - 1].strip()):
        start -= 1
    quoted = _QUOTE_SIGNS.sub("", "\n".join(lines[start:])).strip()
    if not quoted:
        return text.strip("\n"), ""
    own = "\n".join(lines[:start]).rstrip()
    introduction = _INTRODUCTION.search(own)
    if introduction:
        own, quoted = own[: introduction.start()].rstrip(), f"{introduction.group().strip()}\n\n{quoted}"
    return own, quoted
