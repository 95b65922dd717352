"""The function's handler as the loop of awslambdaric calls it: with a stream for the response.

The loop imports this module by its name. So an error in the function's own module is reported as it always is.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from gleaner.model import JsonObject
from gleaner.runtime import integration_response
from gleaner.runtime.lambda_runtime import client

_module, _, _name = os.environ["_HANDLER"].rpartition(".")
_handler: integration_response.Handler = getattr(importlib.import_module(_module), _name)


def handle(event: JsonObject, context: Any) -> JsonObject | None:
    """Handle one invocation. The client posts the result, or ends it if it was streamed."""
    return integration_response.handle(_handler, event, context, client().result.send)
