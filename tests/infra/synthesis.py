"""Synthesises the templates of every environment and of variants, once for all processes of a test run."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from infra.app import code_of, make_app
from infra.code import Code
from infra.environment import Authorizer, Environment, KnowledgeBases
from infra.environments import DEV, ENVIRONMENTS, PROD, STAGING
from infra.front import Domain, Firewall, FirewallLog
from infra.layer_build import Layer
from infra.limits import Quota
from tests.run_directory import make_once

Template = dict[str, Any]

BY_IAM = replace(STAGING, name="iam", authorizer=Authorizer.IAM)
WITH_PAGE = replace(STAGING, name="page", chat_page=True, page_urls=("https://ask.example.org/gleaner/",))
BEHIND_DOMAIN = replace(STAGING, name="domain", public_url="https://ask.example.org")
OWN_CERTIFICATE = "arn:aws:acm:eu-central-1:111122223333:certificate/0a1b2c3d-1111-2222-3333-444455556666"
# A domain whose DNS somebody else keeps, and one in a hosted zone of the account.
AT_DOMAIN = replace(
    STAGING,
    name="atdomain",
    chat_page=True,
    domain=Domain(name="ask.example.org", base_path="tools/gleaner", certificate_arn=OWN_CERTIFICATE),
)
IN_ZONE = replace(
    DEV,
    name="zone",
    authorizer=Authorizer.COGNITO,
    throttle=replace(DEV.throttle, quota_per_day=None),
    domain=Domain(name="zone.example.org", hosted_zone_id="Z0123456789ABCDEFGHIJ", closes_default_endpoint=True),
    firewall=Firewall(requests_per_address=10, log=FirewallLog.ALL),
)
POOL_WITHOUT_PAGES = replace(
    STAGING, name="bare", user_pool_arn="arn:aws:cognito-idp:eu-central-1:111122223333:userpool/eu-central-1_abc"
)
OWN_POOL = replace(
    STAGING,
    name="pool",
    chat_page=True,
    user_pool_arn="arn:aws:cognito-idp:eu-central-1:111122223333:userpool/eu-central-1_abc",
    user_pool_url="https://login.example.org",
)
WITH_EMAIL = replace(DEV, name="email", alarms=replace(DEV.alarms, email="on-call@example.com"))
PROTECTED_KEYS = replace(PROD, name="keys", authorizer=Authorizer.API_KEY)
UNPRICED = replace(DEV, name="unpriced", openai_prices=None, quota=Quota(), alarms=replace(DEV.alarms, spending=None))
TWIN = replace(PROD, name="twin")
RESERVED = replace(
    PROD,
    name="reserved",
    query=replace(PROD.query, reserved_concurrency=100),
    prune=replace(PROD.prune, reserved_concurrency=1),
    firewall=Firewall(log=FirewallLog.NOTHING),
)
# A value of its own for everything that a record may leave out.
TUNED = replace(
    STAGING,
    name="tuned",
    knowledge_bases=KnowledgeBases(default="handbook", unlisted_callers="none"),
    admin_callers=("cognito:0f",),
    cors_origins=("https://app.example.org",),
    web_blocked_hosts=("example.com",),
    learning="caller",
    learning_by_kb={"handbook": "off"},
    learning_forget_with_session=True,
    openai_max_completion_tokens=2048,
    openai_base_url="https://models.example.org/v1",
    openai_api="chat",
    openai_reasoning_effort="low",
    perplexity_base_url="https://search.example.org",
)
ALL_ROUTES = replace(
    STAGING,
    name="everyroutewithin",
    chat_page=True,
    docs_routes=True,
    cors_origins=("https://a.example",),
)
STARTED = replace(DEV, name="started", query=replace(DEV.query, snap_start=False))
PATIENT = replace(STAGING, name="patient", integration_timeout_seconds=120, query_deadline_seconds=110)
WITHOUT = replace(DEV, name="nodocuments", documents=None)
NAMES = [environment.name for environment in ENVIRONMENTS]
EVERY = pytest.mark.parametrize("environment", ENVIRONMENTS, ids=NAMES)


@dataclass(frozen=True, slots=True)
class Synthesis:
    """The paths of the assemblies, and the templates by environment and stack."""

    paths: tuple[Path, ...]  # the first one has the environments that are deployed
    data: Mapping[str, Template]
    documents: Mapping[str, Template]  # of the environments that have it
    service: Mapping[str, Template]
    watch: Mapping[str, Template]

    def all_templates(self) -> Iterator[Template]:
        """The templates of all stacks."""
        yield from self.data.values()
        yield from self.documents.values()
        yield from self.service.values()
        yield from self.watch.values()

    def of(self, name: str) -> tuple[Template, ...]:
        """The templates of an environment."""
        documents = [self.documents[name]] if name in self.documents else []
        return self.data[name], *documents, self.service[name], self.watch[name]


_AT_DOMAINS = (BEHIND_DOMAIN, AT_DOMAIN, IN_ZONE)
_WITH_CALLERS = (BY_IAM, WITH_PAGE, POOL_WITHOUT_PAGES, OWN_POOL, PROTECTED_KEYS)
_SPECIAL = (WITHOUT, WITH_EMAIL, RESERVED, TUNED, ALL_ROUTES, STARTED, PATIENT, UNPRICED)
# Half of the processor works for a synthesis at a time, so two processes of a test run each make one of these.
_ASSEMBLIES = {"deployed": (*ENVIRONMENTS, TWIN, *_WITH_CALLERS), "variants": (*_AT_DOMAINS, *_SPECIAL)}
ALL = tuple(chain.from_iterable(_ASSEMBLIES.values()))
ALL_NAMES = [environment.name for environment in ALL]


@cache
def synthesis() -> Synthesis:
    """Synthesise with a layer of one file: another test checks the content of the layer."""
    names = list(_ASSEMBLIES)
    is_odd = os.environ.get("PYTEST_XDIST_WORKER", "")[-1:] in tuple("13579")
    made = {
        name: make_once(name, partial(_synthesise, environments=_ASSEMBLIES[name])) / "cdk.out"
        for name in (reversed(names) if is_odd else names)
    }
    paths = {name: made[name] for name in names}
    places = {one.name: paths[name] for name, environments in _ASSEMBLIES.items() for one in environments}
    return Synthesis(
        paths=tuple(paths.values()),
        data={name: _read(path, name, "data") for name, path in places.items()},
        documents={name: _read(path, name, "documents") for name, path in places.items() if name != WITHOUT.name},
        service={name: _read(path, name, "service") for name, path in places.items()},
        watch={name: _read(path, name, "watch") for name, path in places.items()},
    )


def _synthesise(path: Path, environments: Sequence[Environment]) -> None:
    layer = path / "layer"
    (layer / "python").mkdir(parents=True)
    (layer / "python" / "nothing.py").write_text("")
    make_app(environments, stub_code(layer), outdir=path / "cdk.out").synth()


def stub_code(layer: Path) -> Code:
    """The functions of the project, with this directory for both layers: another test checks their content."""
    stub = Layer(path=layer, content_hash="0" * 64, size=0, has_bytecode=False)
    return code_of(stub, stub)


def resources(template: Template, type: str) -> dict[str, Any]:
    """Resources of a type, by logical id."""
    return {name: resource for name, resource in template["Resources"].items() if resource["Type"] == type}


def properties(template: Template, type: str) -> list[dict[str, Any]]:
    """Properties of the resources of a type."""
    return [resource.get("Properties", {}) for resource in resources(template, type).values()]


def one(template: Template, type: str) -> dict[str, Any]:
    """Properties of the only resource of a type."""
    (single,) = properties(template, type)
    return single


def access_line(template: Template) -> dict[str, Any]:
    """A line of the access log in which each value is the name of its variable."""
    line: dict[str, Any] = json.loads(one(template, "AWS::ApiGateway::Stage")["AccessLogSetting"]["Format"])
    return line


def functions(template: Template) -> dict[str, dict[str, Any]]:
    """Properties of the functions of a stack: `query`, `prune`, `authorizer`, where callers have API keys, `ingest`."""
    tasks = {"answers": "query", "prunes": "prune", "hands": "authorizer", "loads": "ingest"}
    every = properties(template, "AWS::Lambda::Function")
    return {tasks[function["Description"].partition(": ")[2].split()[0]]: function for function in every}


def _read(path: Path, name: str, stack: str) -> Template:
    (file,) = (path / f"assembly-gleaner-{name}").glob(f"*{name}{stack}*.template.json")
    template: Template = json.loads(file.read_text())
    return template
