"""The functions, their logs and the alias that the API invokes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from infra import layer_build
from infra.app import make_app, write
from infra.code import Code
from infra.environment import Environment
from infra.environments import DEV, ENVIRONMENTS
from tests.infra.synthesis import EVERY, Synthesis, functions, one, properties, resources


@EVERY
@pytest.mark.parametrize("name", ["query", "prune"])
def test_runtime_layer_and_tracing(synthesised: Synthesis, environment: Environment, name: str) -> None:
    template = synthesised.service[environment.name]
    function = functions(template)[name]
    (layer,) = resources(template, "AWS::Lambda::LayerVersion")
    assert function["Runtime"] == "python3.13"
    assert function["Architectures"] == ["arm64"]
    assert function["Handler"] == "handler.lambda_handler"
    assert function["Layers"] == [{"Ref": layer}]
    assert function["TracingConfig"] == {"Mode": "Active"}
    assert function["LoggingConfig"]["LogFormat"] == "JSON"


@EVERY
def test_function_sizes_are_those_of_the_environment(synthesised: Synthesis, environment: Environment) -> None:
    deployed = functions(synthesised.service[environment.name])
    for name, size in (("query", environment.query), ("prune", environment.prune)):
        assert deployed[name]["MemorySize"] == size.memory_mb
        assert deployed[name]["Timeout"] == size.timeout_seconds
        assert deployed[name].get("ReservedConcurrentExecutions") == size.reserved_concurrency


def test_concurrency_is_reserved_as_configured(synthesised: Synthesis) -> None:
    deployed = functions(synthesised.service["reserved"])
    assert {name: one["ReservedConcurrentExecutions"] for name, one in deployed.items()} == {"query": 100, "prune": 1}


def test_no_environment_needs_more_concurrency_than_a_new_account_has() -> None:
    for environment in ENVIRONMENTS:
        assert environment.query.reserved_concurrency is None
        assert environment.prune.reserved_concurrency is None


@EVERY
def test_logs_are_retained_as_configured(synthesised: Synthesis, environment: Environment) -> None:
    template = synthesised.service[environment.name]
    groups = resources(template, "AWS::Logs::LogGroup").values()
    count = len(functions(template)) + 1 + bool(environment.firewall)  # and the access log, and the firewall's
    assert [group["Properties"]["RetentionInDays"] for group in groups] == [environment.log_retention_days] * count
    # They also outlive the service, which may be removed for only a day.
    assert {group["DeletionPolicy"] for group in groups} == {
        "RetainExceptOnCreate" if environment.keep_data else "Delete"
    }


def test_the_api_invokes_a_snapshot_of_the_query_function(synthesised: Synthesis) -> None:
    template = synthesised.service["prod"]
    assert functions(template)["query"]["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    assert "SnapStart" not in functions(template)["prune"]
    (version,) = resources(template, "AWS::Lambda::Version")
    alias = one(template, "AWS::Lambda::Alias")
    assert alias["Name"] == "live"
    assert alias["FunctionVersion"] == {"Fn::GetAtt": [version, "Version"]}
    (alias_id,) = resources(template, "AWS::Lambda::Alias")
    uris = [
        json.dumps(method["Integration"].get("Uri", "")) for method in properties(template, "AWS::ApiGateway::Method")
    ]
    assert uris
    assert all(alias_id in uri for uri in uris)


def test_another_index_host_publishes_another_version(synthesised: Synthesis) -> None:
    template = synthesised.service["dev"]
    host = {"Ref": "IndexHostParameter"}
    assert functions(template)["query"]["Environment"]["Variables"]["PINECONE_INDEX_HOST"] == host
    # CloudFormation replaces a version when its description changes. No other property depends on the host.
    assert one(template, "AWS::Lambda::Version")["Description"] == {"Fn::Join": ["", ["Index ", host]]}


@EVERY
def test_only_the_query_function_starts_the_client_that_streams(
    synthesised: Synthesis, environment: Environment
) -> None:
    deployed = functions(synthesised.service[environment.name])
    path = deployed["query"]["Environment"]["Variables"]["AWS_LAMBDA_EXEC_WRAPPER"]
    script = layer_build.PACKAGE.parent / Path(path).relative_to("/opt/python")
    assert os.access(script, os.X_OK)
    assert "AWS_LAMBDA_EXEC_WRAPPER" not in deployed["prune"]["Environment"]["Variables"]


def test_deployed_files_are_readable_with_any_umask(tmp_path: Path) -> None:
    code = {name: tmp_path / name for name in ("layer", "documents_layer", "query", "prune", "authorizer", "ingest")}
    for path in code.values():
        (path / "python").mkdir(parents=True, mode=0o700)
        for name, mode in (("handler.py", 0o600), ("python/tool", 0o700)):
            (path / name).write_text(path.name)
            (path / name).chmod(mode)
        path.chmod(0o700)
    hashes = {"layer_hash": "0" * 64, "documents_layer_hash": "1" * 64}
    write(make_app([DEV], Code(**hashes, **code), outdir=tmp_path / "cdk.out"))  # type: ignore[arg-type]
    assets = list((tmp_path / "cdk.out").glob("asset.*/"))
    assert len(assets) == len(code)
    for asset in assets:
        modes = {str(path.relative_to(asset)): f"{path.stat().st_mode & 0o777:o}" for path in asset.rglob("*")}
        assert modes == {"handler.py": "644", "python": "755", "python/tool": "755"}


@EVERY
def test_no_variable_holds_a_key(synthesised: Synthesis, environment: Environment) -> None:
    for function in functions(synthesised.service[environment.name]).values():
        variables = function.get("Environment", {}).get("Variables", {})
        assert not [name for name in variables if name.endswith("_API_KEY")]


@EVERY
def test_each_environment_has_its_own_metrics_namespace(synthesised: Synthesis, environment: Environment) -> None:
    deployed = functions(synthesised.service[environment.name])
    for name in ("query", "prune"):
        namespace = deployed[name]["Environment"]["Variables"]["POWERTOOLS_METRICS_NAMESPACE"]
        assert namespace == f"Gleaner/{environment.name}"
