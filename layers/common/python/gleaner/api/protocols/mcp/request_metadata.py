"""Which version a message is of: by its header, by its `_meta`, and by the headers that repeat parts of the body.

From basic/transports/streamable-http.mdx (request metadata, server validation) and basic/versioning.mdx of the
specification of 2026-07-28. Where these leave the order of the checks open, it is that of the Python SDK 2.3.0, in
`mcp/shared/inbound.py`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence

from gleaner.api.protocols.mcp import versions
from gleaner.api.protocols.mcp.json_rpc import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_PROTOCOL_VERSION,
    ProtocolError,
    Request,
)
from gleaner.model import JsonObject

Headers = Mapping[str, Sequence[str]]  # by name in lower case

VERSION_HEADER = "mcp-protocol-version"
METHOD_HEADER = "mcp-method"
NAME_HEADER = "mcp-name"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
NAME_PARAMETERS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}  # in NAME_HEADER, by method
_ENCODED_START, _ENCODED_END = "=?base64?", "?="


def version_of_header(headers: Headers) -> str:
    """The version that the header names, for messages that are no requests. Raises ProtocolError."""
    version = _only(headers, VERSION_HEADER) or versions.WITHOUT_HEADER
    if version not in versions.SUPPORTED:
        raise _unsupported(version)
    return version


def version_of_request(headers: Headers, request: Request) -> str:
    """The version that a request is of, once what it says twice agrees. Raises ProtocolError."""
    claimed = _only(headers, VERSION_HEADER)
    meta = request.params.get("_meta")
    names_version = isinstance(meta, dict) and VERSION_KEY in meta
    if not names_version and (claimed is None or claimed != versions.CURRENT):
        return version_of_header(headers)
    if not isinstance(meta, dict) or not {VERSION_KEY, _CAPABILITIES_KEY} <= meta.keys():
        detail = f"params._meta must have {VERSION_KEY} and {_CAPABILITIES_KEY}."
        raise ProtocolError(INVALID_PARAMS, detail)
    _check_headers(headers, request, meta)
    if claimed != versions.CURRENT:
        raise _unsupported(str(claimed))
    return claimed


def _check_headers(headers: Headers, request: Request, meta: JsonObject) -> None:
    expected = {VERSION_HEADER: meta[VERSION_KEY], METHOD_HEADER: request.method}
    parameter = NAME_PARAMETERS.get(request.method)
    if parameter is not None and parameter in request.params:
        expected[NAME_HEADER] = request.params[parameter]
    for name, value in expected.items():
        sent = _only(headers, name)
        if (_decode(sent) if name == NAME_HEADER else sent) != value:
            title = name.title().replace("Mcp-P", "MCP-P")
            raise ProtocolError(HEADER_MISMATCH, f"The header {title} is missing or differs from the body.")


def _only(headers: Headers, name: str) -> str | None:
    values = headers.get(name, ())
    if len(values) > 1:
        raise ProtocolError(HEADER_MISMATCH, f"The header {name} must be sent once.")
    return values[0].strip() if values else None


def encode(value: str) -> str:
    """A value as a header carries it: in base64 between marks, unless it is plain."""
    if value.isascii() and value.isprintable() and value == value.strip() and not value.startswith(_ENCODED_START):
        return value
    return f"{_ENCODED_START}{base64.b64encode(value.encode('utf-8', 'replace')).decode()}{_ENCODED_END}"


def _decode(value: str | None) -> str | None:
    """The value of a header that may be in base64 between marks; None if that is damaged."""
    if value is None or not (value.startswith(_ENCODED_START) and value.endswith(_ENCODED_END)):
        return value
    encoded = value.removeprefix(_ENCODED_START).removesuffix(_ENCODED_END)
    try:
        decoded = base64.b64decode(encoded, validate=True)
        return decoded.decode() if base64.b64encode(decoded).decode() == encoded else None
    except (binascii.Error, ValueError):
        return None


def _unsupported(version: str) -> ProtocolError:
    data = {"supported": list(versions.SUPPORTED), "requested": version}
    return ProtocolError(UNSUPPORTED_PROTOCOL_VERSION, "This version of the protocol is not supported.", data=data)
