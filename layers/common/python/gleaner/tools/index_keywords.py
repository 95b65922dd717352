"""The tool that stores a web answer under keywords."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from gleaner import text
from gleaner.errors import AnswerForgotten, GleanerError, ToolCallRejected
from gleaner.knowledge.answered_question import choose_answered_question, choose_valid_hours
from gleaner.knowledge.learning import MAX_KEYWORD_LENGTH, LearningResult, RejectedKeyword
from gleaner.knowledge.relevance import related_keywords
from gleaner.model import JsonObject, LearningMode, WebAnswer
from gleaner.tools.parameter_checks import check_keyword
from gleaner.tools.tool import Arguments, Tool
from gleaner.tools.workspace import Workspace

NAME = "index_keywords"
_MAX_REJECTIONS = 20
_MAX_SECONDS = 4.0  # for the writes of one call
_SEPARATOR = re.compile(r"[ \t]*[,;\n][,;\s]*")
_UNLEARNABLE = "nothing is stored from the pages of this web answer; go on without keywords"
_UNRELATED = "neither the question nor the web answer mentions it: name what they are about"


def _read_list(value: Any) -> Any:
    """Accept a list in a string as a list: as JSON, or separated by commas, semicolons or line ends."""
    if not isinstance(value, str):
        return value
    try:
        listed = json.loads(value, strict=False)
    except (RecursionError, ValueError):
        listed = None
    items = listed if isinstance(listed, list) else _SEPARATOR.split(listed if isinstance(listed, str) else value)
    return [item for item in items if item != ""]


# Items may have any type, so that one invalid keyword is rejected alone and the others are indexed.
Keywords = Annotated[
    list[Any],
    BeforeValidator(_read_list),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20}),
]


class KeywordArguments(Arguments):
    """What to store, and under which keywords."""

    keywords: Keywords = Field(min_length=1)
    answers: Annotated[Any, WithJsonSchema({"type": "string"})] = None
    valid_for_hours: Annotated[Any, WithJsonSchema({"type": "number"})] = None
    perplexity_result_id: SkipJsonSchema[Any] = None  # not offered: models invent ids, and the latest answer is meant


def _index(arguments: KeywordArguments, workspace: Workspace) -> JsonObject:
    answer = _choose_answer(arguments.perplexity_result_id, workspace)
    learned = learn(
        arguments.keywords, answer, workspace, answers=arguments.answers, valid_for_hours=arguments.valid_for_hours
    )
    indexed = [keyword.keyword_text for keyword in learned.indexed]
    rejected = [{"keyword": item.keyword, "reason": item.reason} for item in learned.rejected]
    if not indexed and answer.result_id in workspace.learnable_results():  # other keywords would not help there
        reasons = "; ".join(f"{item['keyword']!r}: {item['reason']}" for item in rejected[:_MAX_REJECTIONS])
        raise ToolCallRejected(
            f"No keyword was accepted ({reasons}). Give names, products, concepts or tasks, such as "
            "'DynamoDB transactions' or 'Python packaging'."
        )
    return {
        "indexed": indexed,
        "keyword_count": len(indexed),
        "merged": any(keyword.existed for keyword in learned.indexed),
        "rejected": rejected[:_MAX_REJECTIONS],
    }


def learn(
    keywords: Sequence[object],
    answer: WebAnswer,
    workspace: Workspace,
    *,
    answers: object = None,
    valid_for_hours: object = None,
) -> LearningResult:
    """Index `keywords` for a web answer of this query. Raises StoreUnavailable or DeadlineExceeded.

    `answers` and `valid_for_hours` are what the model says of it, if anything.
    """
    if answer.result_id not in workspace.learnable_results():
        return _refuse(keywords)
    described = _describe(answer, answers, valid_for_hours, workspace)
    use = workspace.keyword_use(described)
    harmless, hostile = _split_by_harm(keywords)
    related, unrelated = _split_by_relevance(harmless, answer, workspace.question.text)
    try:
        learned = workspace.learning.learn(related, use, deadline=workspace.deadline.part(_MAX_SECONDS))
    except AnswerForgotten:
        workspace.unlearnable_results.add(answer.result_id)
        return _refuse(keywords)
    learned = replace(learned, rejected=(*learned.rejected, *hostile, *unrelated))
    if learned.indexed:
        workspace.learned.update({keyword.keyword_id: keyword for keyword in learned.indexed})
        if answer.result_id not in workspace.learned_results:
            workspace.learned_results[answer.result_id] = described.groups
            workspace.background.submit("answer index", lambda: _index_answer(described, workspace))
    return learned


def _describe(answer: WebAnswer, answers: object, valid_for_hours: object, workspace: Workspace) -> WebAnswer:
    """Add the question that the answer answers, how long it holds, and whom it is for."""
    question = workspace.question
    is_harmless = isinstance(answers, str) and check_keyword(answers) is None
    return replace(
        answer,
        answers=choose_answered_question(answers if is_harmless else None, answer, question.text),
        valid_for_hours=choose_valid_hours(valid_for_hours, answer),
        owner=question.caller if question.learning is LearningMode.CALLER else None,
        groups=workspace.groups(),
    )


def _index_answer(answer: WebAnswer, workspace: Workspace) -> None:
    """Make the answer findable by meaning. Raises what `Learning.index_answer` raises."""
    try:
        workspace.learning.index_answer(answer, deadline=workspace.deadline)
    except GleanerError:
        workspace.unindexed_results.add(answer.result_id)
        raise


def _refuse(keywords: Sequence[object]) -> LearningResult:
    refused = [keyword[:MAX_KEYWORD_LENGTH] for keyword in keywords if isinstance(keyword, str)]
    return LearningResult(
        indexed=(), rejected=tuple(RejectedKeyword(keyword=keyword, reason=_UNLEARNABLE) for keyword in refused)
    )


def _split_by_harm(keywords: Sequence[object]) -> tuple[list[object], list[RejectedKeyword]]:
    """Split keywords into harmless ones and rejected attacks."""
    harmless: list[object] = []
    hostile: list[RejectedKeyword] = []
    for keyword in keywords:
        # Longer keywords are rejected later, for their length. White space is collapsed after the check, which looks at
        # the starts of lines.
        typed = keyword.strip()[: 2 * MAX_KEYWORD_LENGTH] if isinstance(keyword, str) else ""
        if code := check_keyword(typed):
            reason = f"refused ({code}): name the topic in plain words"
            hostile.append(RejectedKeyword(keyword=text.collapse(typed)[:MAX_KEYWORD_LENGTH], reason=reason))
        else:
            harmless.append(keyword)
    return harmless, hostile


def _split_by_relevance(
    keywords: Sequence[object], answer: WebAnswer, question: str
) -> tuple[list[object], list[RejectedKeyword]]:
    """Split keywords into those related to the answer and rejected ones; what is no text is rejected later."""
    texts = [keyword for keyword in keywords if isinstance(keyword, str)]
    related = related_keywords(texts, answer, question)
    unrelated = [keyword for keyword in texts if keyword not in related]
    refused = [RejectedKeyword(keyword=keyword[:MAX_KEYWORD_LENGTH], reason=_UNRELATED) for keyword in unrelated]
    return [keyword for keyword in keywords if not isinstance(keyword, str) or keyword in related], refused


def _choose_answer(result_id: Any, workspace: Workspace) -> WebAnswer:
    if not workspace.web_answers:
        raise ToolCallRejected("There is no web answer to index: keywords are only for web answers.")
    if isinstance(result_id, str) and result_id in workspace.web_answers:
        return workspace.web_answers[result_id]
    # A mistyped id can only mean a web answer of this query: those of other queries are never looked up.
    return list(workspace.web_answers.values())[-1]


def _summarize(result: JsonObject) -> JsonObject:
    return {"count": result["keyword_count"], "merged": result["merged"]}


TOOL = Tool(NAME, KeywordArguments, _index, _summarize)
