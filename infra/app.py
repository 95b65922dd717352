"""The CDK application: `python -m infra.app` writes the templates of all environments to cdk.out."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import App, Validations
from cdk_nag import AwsSolutionsChecks

from infra import layer_build
from infra.code import Code
from infra.environment import Environment
from infra.environments import ENVIRONMENTS, PIPELINE
from infra.modes import make_readable
from infra.pipeline import Pipeline
from infra.pipeline_stacks import PipelineStage
from infra.stage import GleanerStage

FUNCTIONS = layer_build.ROOT / "functions"

# Feature flags of the CDK. They are set here because the tests do not read cdk.json.
_FLAGS = {
    "@aws-cdk/aws-lambda:recognizeLayerVersion": True,  # a new layer publishes a new version of the function
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/core:checkSecretUsage": True,
    "@aws-cdk/core:enablePartitionLiterals": True,
    "aws:cdk:disable-version-reporting": True,  # no metadata resource in the stacks
}


def make_app(
    environments: Sequence[Environment],
    code: Code,
    *,
    pipeline: Pipeline | None = None,
    outdir: Path | None = None,
    context: Mapping[str, str] | None = None,
) -> App:
    """Create the application with a stage for each environment, and for the pipeline. cdk-nag checks its synthesis.

    `context` is taken besides that of the CDK's command line.
    """
    app = App(context=_FLAGS | dict(context or {}), outdir=str(outdir) if outdir else None, analytics_reporting=False)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    for environment in environments:
        GleanerStage(app, environment, code=code)
    if pipeline is not None:
        PipelineStage(app, pipeline, [environment.name for environment in environments])
    return app


def write(app: App) -> None:
    """Synthesise the application and make its assets readable for the user that Lambda runs them as."""
    for asset in Path(app.synth().directory).glob("asset.*/"):
        make_readable(asset)


def code_of(layer: layer_build.Layer, documents_layer: layer_build.Layer) -> Code:
    """The code that the functions run: these layers and their own files."""
    return Code(
        layer=layer.path,
        layer_hash=layer.content_hash,
        documents_layer=documents_layer.path,
        documents_layer_hash=documents_layer.content_hash,
        query=FUNCTIONS / "query",
        prune=FUNCTIONS / "keyword_prune",
        authorizer=FUNCTIONS / "authorizer",
        ingest=FUNCTIONS / "ingest",
    )


def main() -> None:
    """Build the layers and synthesise every environment."""
    layers = [layer_build.build(source=source) for source in (layer_build.COMMON, layer_build.DOCUMENTS)]
    for layer in layers:
        print(layer_build.describe(layer), file=sys.stderr)
    # The CDK's command line sets this variable. Without any directory, the CDK would write to a temporary one.
    outdir = Path(os.environ.get("CDK_OUTDIR") or layer_build.ROOT / "cdk.out")
    write(make_app(ENVIRONMENTS, code_of(*layers), pipeline=PIPELINE, outdir=outdir))


if __name__ == "__main__":
    main()
