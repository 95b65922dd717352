"""The body of a question as API Gateway checks it, before the function is started and paid for.

It refuses what is no JSON object, in the function's words. A model of the fields would refuse more, but API Gateway
cannot say which field it means: the function judges fields, and names what to mend.
"""

from __future__ import annotations

from aws_cdk import aws_apigateway as apigateway


def add_question_model(api: apigateway.RestApi) -> apigateway.Model:
    """The model of the body of POST /api/chat/query."""
    return api.add_model(
        "Question",
        description="A question that begins a session, or goes on with one",
        content_type="application/json",
        schema=apigateway.JsonSchema(
            schema=apigateway.JsonSchemaVersion.DRAFT4, title="Question", type=apigateway.JsonSchemaType.OBJECT
        ),
    )
