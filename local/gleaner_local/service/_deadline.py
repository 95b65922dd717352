"""How long a question may take on this machine."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from gleaner_local.service.parts import Part, local_parts

_VARIABLE = "QUERY_DEADLINE_SECONDS"
_DEFAULT_SECONDS = 25.0  # as in the deployed function, behind an API Gateway
_SLOW_MODEL_SECONDS = 300.0  # a small model on two cores takes 16 to 66 s for one call


def choose_deadline(env: Mapping[str, str], option: float | None) -> float:
    """Seconds for one question: the option, the variable, or a default that allows for a model on this machine."""
    if option is not None:
        return option
    if env.get(_VARIABLE):
        return float(env[_VARIABLE])
    return _SLOW_MODEL_SECONDS if runs_own_model(env) else _DEFAULT_SECONDS


def runs_own_model(env: Mapping[str, str]) -> bool:
    """Whether `env` names a model service in a private network, such as a server of Ollama or llama.cpp."""
    if Part.MODEL in local_parts(env):
        return False  # the extractive model answers at once
    host = urlsplit(env.get(Part.MODEL.value, "")).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".local", ".internal", ".localhost"))
