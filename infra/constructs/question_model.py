"""The body of a question as API Gateway checks it, before the function is started and paid for.

It refuses what can be refused without judging text: the function trims text before it measures it, so lengths are
the function's to judge. A seam test holds the fields equal to the function's own.
"""

from __future__ import annotations

from aws_cdk import aws_apigateway as apigateway

_Type = apigateway.JsonSchemaType

_TEXT = apigateway.JsonSchema(type=_Type.STRING, min_length=1)
_OPTIONAL_TEXT = apigateway.JsonSchema(type=[_Type.STRING, _Type.NULL])

FIELDS = {
    "query": _TEXT,
    "session_id": _OPTIONAL_TEXT,
    "kb_id": _OPTIONAL_TEXT,
    "mode": apigateway.JsonSchema(type=_Type.STRING, enum=["whole_book", "selected_text"]),
    "selected_text": _OPTIONAL_TEXT,
    "chapter_origin": _OPTIONAL_TEXT,
    "grounding": apigateway.JsonSchema(type=_Type.STRING, enum=["open", "strict"]),
}


def add_question_model(api: apigateway.RestApi) -> apigateway.Model:
    """The model of the body of POST /api/chat/query."""
    return api.add_model(
        "Question",
        description="A question that begins a session, or goes on with one",
        content_type="application/json",
        schema=apigateway.JsonSchema(
            schema=apigateway.JsonSchemaVersion.DRAFT4,
            title="Question",
            type=_Type.OBJECT,
            properties=FIELDS,
            required=["query"],
            additional_properties=False,
        ),
    )
