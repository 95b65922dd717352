"""The Lambda layers, made of what infra/layer_build.py built."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import AssetHashType
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.code import Code


def common_layer(scope: Construct, id: str, code: Code) -> lambda_.LayerVersion:
    """The layer of every function that is more than a handler."""
    description = "Gleaner's package and the pinned packages that it needs"
    return _layer(scope, id, description, code.layer, code.layer_hash)


def documents_layer(scope: Construct, id: str, code: Code) -> lambda_.LayerVersion:
    """The layer of functions that read documents, besides the other one."""
    description = "What reads documents, and the pinned packages that it needs"
    return _layer(scope, id, description, code.documents_layer, code.documents_layer_hash)


def _layer(scope: Construct, id: str, description: str, path: Path, content_hash: str) -> lambda_.LayerVersion:
    return lambda_.LayerVersion(
        scope,
        id,
        description=description,
        code=lambda_.Code.from_asset(str(path), asset_hash=content_hash, asset_hash_type=AssetHashType.CUSTOM),
        compatible_runtimes=[lambda_.Runtime.PYTHON_3_13],
        compatible_architectures=[lambda_.Architecture.ARM_64],
    )
