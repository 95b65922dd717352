"""The model with which API Gateway checks the body of a question before it invokes the function.

It rejects anything but a JSON object, with the function's message. A model of the fields would reject more, but API
Gateway cannot name the invalid field: the function validates fields and names the one to fix.
"""

from __future__ import annotations

from aws_cdk import aws_apigateway as apigateway


def add_question_model(api: apigateway.RestApi) -> apigateway.Model:
    """The model of the body of a question, streamed or not."""
    return api.add_model(
        "Question",
        description="A question that starts or continues a session",
        content_type="application/json",
        schema=apigateway.JsonSchema(
            schema=apigateway.JsonSchemaVersion.DRAFT4, title="Question", type=apigateway.JsonSchemaType.OBJECT
        ),
    )
