"""Signs of code or URLs that would harm whatever interprets them. No reader of a search text does.

Patterns expect a plain reading (see `unmasking`). Every repetition is bounded, so that matching takes linear time.
"""

from __future__ import annotations

import ipaddress
import re
import socket

_ACTIVE = (
    r"(?:script|img|svg|iframe|object|embed|meta|link|style|body|base|form|input|video|audio|math|marquee|details|"
    r"isindex)"
)
MARKUP = [
    rf"<\s{{0,3}}{_ACTIVE}\b[^<>]{{0,300}}?=|<\s{{0,3}}script\b[^<>]{{0,100}}>[^<]{{0,200}}?[(;=]|<\s{{0,3}}/\s{{0,3}}script",
    r"<[a-z][^<>]{0,300}?[\s/\"']on[a-z]{3,20}\s{0,3}=|\bon(?:error|load|click|mouseover|focus)\s{0,3}=",
    r"\b(?:java|vb|live)\s{0,3}script\s{0,3}:|\bdata:text/html|<!--|<[a-z]{1,10}\s[^<>]{0,80}\b(?:style|href|src)\s{0,3}=",
    r"<!\s{0,3}(?:entity|doctype\s[^<>]{0,60}\[)|<!\[cdata\[|<\?(?:xml|php|=)|<xi:include|<xsl:",
    r"\b(?:alert|confirm|prompt|eval)\s?\(\s?[\d'\"`/]",
]
_SLEEP = r"\b(?:pg_sleep|sleep|benchmark)\s{0,3}\(\s{0,3}\d"
SQL = [
    r"['\"]\)?\s{0,5}(?:\|\||or\b|and\b|having\b)[^\n]{0,30}?(?:[=<>]|\blike\b|--|/\*)",
    r"\bunion\s{1,5}(?:all\s{1,5})?select\b|\binto\s{1,5}(?:out|dump)file\b|\border by \d{1,3}\s{0,3}(?:--|#)",
    r"\bxp_cmdshell\b|\bsp_msforeachtable\b",
    r";\s{0,5}(?:drop|delete|insert|update|exec|alter|create|truncate|shutdown|select|declare)\s",
    r"\b(?:or|and)\s{1,5}['\"]?(?P<same>\w{1,10})['\"]?\s{0,3}=\s{0,3}['\"]?(?P=same)\b",
    r"['\"]\)?\s{0,3};?\s{0,3}(?:--|#|/\*)\s{0,3}(?:-|$|\n)",
    rf"(?:['\";)]|\b(?:and|or|select|if)\b)[^\n]{{0,20}}?{_SLEEP}|\bwaitfor\s{{1,3}}delay\b",
    r"\(\s{0,3}select\b|['\"]\s{0,3}\|\||\b(?:extractvalue|updatexml)\s?\(|[)'\"\d]\s{0,3}--\s{0,3}$",
    r"\bdrop\s{1,5}(?:table|database)\b[^\n]{0,60}(?:--|;)",
]
_PROGRAM = (
    r"(?:cat|nc|ncat|netcat|bash|sh|zsh|curl|wget|rm|whoami|id|ls|php|python3?|perl|ruby|ping|powershell|cmd|nslookup|dig|"
    r"uname|env|chmod|sleep|echo|touch|kill|shutdown|reboot|mkfifo|type|dir)"
)
COMMAND = [
    # The name of a program in backticks, followed by words, is only formatting.
    rf"(?:[;&|\n`]|\$\()\s{{0,5}}(?:/\w{{1,10}}/){{0,3}}{_PROGRAM}\b(?!`\s{{1,3}}\w)",
    r"\b(?:system|exec|popen|shell_exec|passthru|proc_open)\s?\(\s?['\"`]|%x\(|\{[a-z]{2,10},[^{}\s]{1,100}\}",
    r"\$\{ifs\}|/dev/(?:tcp|udp)/|\(\)\s{0,3}\{\s{0,3}:;\s{0,3}\}|:\(\)\s{0,3}\{|\$\([^)\n]{1,200}\)(?!\.)",
    r"\b(?:cat|type|less|more|head|tail)\s{1,5}[/\\]\S|\brm\s{1,3}-[rf]{1,2}\s{1,3}[/~*]",
    r"\b(?:bash|sh)\s-[ic]\b|\bcmd(?:\.exe)?\s{1,3}/c\b|\bpowershell(?:\.exe)?\s{1,3}-|\b(?:python3?|perl|ruby|php)\s-[ecr]\s",
]
# An expression that accesses the interpreter, or that is the entire text.
_REACHING = (
    r"\d\s{0,3}[*+]\s{0,3}['\"]?\d|__|\b(?:config|self|request|process|system|popen|exec|eval|runtime|import|constructor|"
    r"getclass|java|os|file|env|cycler|joiner|lipsum|jndi|safety|override)\b"
)
_OPENING = r"(?:\{\{|\{%|[$#*@%]\{|<%)"
TEMPLATE = [
    rf"{_OPENING}[^\n]{{0,200}}?(?:{_REACHING})|^\W{{0,5}}{_OPENING}|#set\s?\(|@\(\d|\{{php\}}|\{{\d{{1,5}}\*\d{{1,5}}\}}",
    r"__(?:class|globals|mro|subclasses|builtins|import|proto)__|__init__\s?\.\s?__|\bconstructor\s{0,3}[.\[(]",
]
PATH = [
    r"(?:\.\.\\?[\\/]{1,3}){2}|(?:\.{4}[\\/]{2}){2}|^\W{0,5}\.\.[\\/]|\.\.;[\\/]",
    r"/etc/(?:passwd|shadow|sudoers)\b|/proc/self\b|/var/log/\w|^\\\\[\w.-]{1,100}\\|\\drivers\\etc\b|[\\/]\.ssh[\\/]|\.aws/credentials|/var/run/secrets/|\.kube/config\b|"
    r"\b(?:win|boot)\.ini\b|\\system32\\config\b",
]
VALUES = [
    r"[\"'{,\s\[]\$(?:ne|gte?|lte?|where|regex|in|nin|or|and|nor|not|exists)[\"'\]]?\s{0,3}[:=]",
    r"\*\)\s{0,3}\([&|(]?\w{1,20}=|\)\s{0,3}\(\s{0,3}[|&]|\bo:\d{1,4}:\"|\bro0ab[\w+/]|[\"']constructor[\"']\s{0,3}:\s{0,3}\{\s{0,3}[\"']prototype|\baced0005|__proto__",
    r"!!?(?:python|ruby|java|javax|perl|php)[/.]|^\s{0,5}[=+@-]\s{0,3}(?:import(?:xml|data|html|feed|range)|webservice|"
    r"hyperlink|dde|cmd)\b\s{0,3}[(|]",
    r"\\(?:write18|immediate|input\s{0,3}\{\s{0,3}/|openin|catcode)",
    r"^\W{0,5}query\s?=|\b(?:kb_id|top_k|session_id|query_id|perplexity_result_id)[\"']?\s{0,3}[=:]",
    r"(?:%\d{0,3}[sdnxp]){3}|\bcmd\|",
    r"\n(?:set-cookie|location|content-type|content-length|host|transfer-encoding)\s{0,3}:",
]
DATA_LINK = [
    r"!\[[^\]\n]{0,200}\]\(\s{0,5}<?(?:https?:)?//|!\[[^\]\n]{0,200}\]\[",  # an image
    r"\]\(\s{0,5}<?(?:https?:)?//[^)\s?]{1,300}\?[^)\s=]{0,100}=",  # a link whose query has a value
]

_ADDRESS = re.compile(r"\b([a-z][a-z0-9+.-]{1,20}):[\\/]{1,3}([^\s/?#\"'<>\\)]{0,300})")
_METADATA = re.compile(r"(?<![\w.])169\.254\.169\.254(?![\w.])|\bmetadata\.google\.internal\b")
_SECRET_IN_ADDRESS = re.compile(
    r"\b(?:https?|wss?|ftp)://[^\s/@:]{1,100}:[^\s/@]{1,100}@|[?&](?:api_?key|(?:access_?)?token|secret|password)=(?!\W|your)[\w.%-]{12}"
)
_NAME = re.compile(r"[\w.-]+")
_FETCHED = frozenset(("http", "https", "ws", "wss", "ftp"))
_DANGEROUS = frozenset(
    "file gopher dict ldap ldaps jar netdoc expect php phar tftp sftp smb jndi rmi view-source".split()
)
_INTERNAL_SUFFIXES = tuple(
    ".localhost .internal .local .localdomain .svc .lan .corp .intranet .nip.io .sslip.io .xip.io "
    "localtest.me lvh.me".split()
)


def contains_internal_address(reading: str) -> bool:
    """Return whether the text contains an address of a private network, of the machine itself or of its files."""
    for scheme, authority in _ADDRESS.findall(reading.replace("。", ".")):
        if scheme in _DANGEROUS or (scheme in _FETCHED and _is_internal(_extract_host(authority))):
            return True
    # Without a scheme only metadata services count: other numbers may be versions.
    return _METADATA.search(reading) is not None


def contains_secret(reading: str) -> bool:
    """Return whether a URL in the text contains a password, key or token."""
    return _SECRET_IN_ADDRESS.search(reading) is not None


def _extract_host(authority: str) -> str:
    host = authority.rpartition("@")[2]
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def _is_internal(host: str) -> bool:
    address = _parse_ip(host)
    if address is not None:
        mapped = getattr(address, "ipv4_mapped", None)
        return not (mapped or address).is_global
    # A name without a dot is a machine on the local network.
    return _NAME.fullmatch(host) is not None and (
        "." not in host.rstrip(".") or host.rstrip(".").endswith(_INTERNAL_SUFFIXES)
    )


def _parse_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address in any accepted notation, including octal, hexadecimal, short and single-number forms."""
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        pass
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
