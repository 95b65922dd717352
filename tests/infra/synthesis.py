"""The synthesised templates, made once for all tests: every environment, and variants of them."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infra.app import FUNCTIONS, make_app
from infra.environments import DEV, ENVIRONMENTS, PROD, STAGING, Authorizer
from infra.service_stack import Code

Template = dict[str, Any]

BY_IAM = replace(STAGING, name="iam", authorizer=Authorizer.IAM)
GIVEN_POOL = replace(
    STAGING, name="pool", user_pool_arn="arn:aws:cognito-idp:eu-central-1:111122223333:userpool/eu-central-1_abc"
)
WITH_EMAIL = replace(DEV, name="email", alarms=replace(DEV.alarms, email="on-call@example.com"))
KEPT_KEYS = replace(PROD, name="keys", authorizer=Authorizer.API_KEY)
TWIN = replace(PROD, name="twin")
RESERVED = replace(
    PROD,
    name="reserved",
    query=replace(PROD.query, reserved_concurrency=100),
    prune=replace(PROD.prune, reserved_concurrency=1),
)
NAMES = [environment.name for environment in ENVIRONMENTS]
EVERY = pytest.mark.parametrize("environment", ENVIRONMENTS, ids=NAMES)


@dataclass(frozen=True, slots=True)
class Synthesis:
    """Where the assembly lies, and the templates by environment and stack."""

    path: Path
    data: Mapping[str, Template]
    service: Mapping[str, Template]

    def all_templates(self) -> Iterator[Template]:
        """The templates of all stacks."""
        yield from self.data.values()
        yield from self.service.values()


@cache
def synthesis() -> Synthesis:
    """Synthesise over a layer of one file: what the layer holds is another test's business."""
    path = Path(tempfile.mkdtemp(prefix="gleaner-synthesis-"))
    layer = path / "layer"
    (layer / "python").mkdir(parents=True)
    (layer / "python" / "nothing.py").write_text("")
    code = Code(layer=layer, layer_hash="0" * 64, query=FUNCTIONS / "query", prune=FUNCTIONS / "keyword_prune")
    environments = (*ENVIRONMENTS, BY_IAM, GIVEN_POOL, WITH_EMAIL, KEPT_KEYS, RESERVED, TWIN)
    make_app(environments, code, outdir=path / "cdk.out").synth()
    names = [environment.name for environment in environments]
    return Synthesis(
        path=path / "cdk.out",
        data={name: _read(path, name, "data") for name in names},
        service={name: _read(path, name, "service") for name in names},
    )


def resources(template: Template, type: str) -> dict[str, Any]:
    """Resources of a type, by logical id."""
    return {name: found for name, found in template["Resources"].items() if found["Type"] == type}


def properties(template: Template, type: str) -> list[dict[str, Any]]:
    """Properties of the resources of a type."""
    return [found.get("Properties", {}) for found in resources(template, type).values()]


def one(template: Template, type: str) -> dict[str, Any]:
    """Properties of the only resource of a type."""
    (found,) = properties(template, type)
    return found


def functions(template: Template) -> dict[str, dict[str, Any]]:
    """Properties of the functions `query` and `prune`."""
    found = properties(template, "AWS::Lambda::Function")
    return {"query" if "answers" in function["Description"] else "prune": function for function in found}


def _read(path: Path, name: str, stack: str) -> Template:
    (file,) = (path / "cdk.out" / f"assembly-gleaner-{name}").glob(f"*{name}{stack}*.template.json")
    template: Template = json.loads(file.read_text())
    return template
