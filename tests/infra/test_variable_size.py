"""Variables of the query function that Lambda would not take are refused at synth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.app import make_app
from infra.constructs.variable_size import MAX_VARIABLES, check_variables
from infra.environments import DEV
from tests.infra.synthesis import stub_code


@pytest.mark.parametrize(
    ("changes", "biggest"),
    [
        ({"cors_origins": tuple(f"https://app-{n}.example.org" for n in range(200))}, "CORS_ORIGINS"),
        ({"admin_callers": tuple(f"cognito:{n:036}" for n in range(400))}, "ADMIN_CALLERS"),
    ],
)
def test_variables_that_lambda_does_not_take_are_refused(tmp_path: Path, changes: dict[str, Any], biggest: str) -> None:
    layer = tmp_path / "layer"
    layer.mkdir()
    code = stub_code(layer)
    # "Lambda quotas" in its developer guide: 4 KB, not adjustable.
    with pytest.raises(ValueError, match=rf"\Adev: .* bytes, but Lambda takes 4,096.*: {biggest} \("):
        make_app([replace(DEV, **changes)], code, outdir=tmp_path / "cdk.out")


def test_variables_take_the_room_of_their_json_and_about_that_of_what_cloudformation_knows() -> None:
    room = MAX_VARIABLES - len('{"A":""}')
    assert check_variables({"A": "x" * room}) is None
    assert check_variables({"A": "x" * (room + 1)}) is not None
    assert check_variables({"A": "ü" * (room // 2 + 1)}) is not None  # bytes, not characters
    table = "${Token[TOKEN.123]}"
    assert check_variables({f"T{number}": table for number in range(40)}) is None
    assert check_variables({f"T{number}": table for number in range(50)}) is not None
