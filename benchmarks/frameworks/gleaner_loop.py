"""Answers the question with Gleaner's agent loop and all its checks. Its tools use stand-ins of the services.

The third argument is the API that the model is asked by.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from worker import MODEL_URL, PASSAGES, WEB, serve

from gleaner.answering.agent import Agent
from gleaner.answering.conversation import build_conversation
from gleaner.answering.steps import LoopLimits
from gleaner.clients import chat_model
from gleaner.clients.perplexity_answer import WebSearchResult
from gleaner.knowledge.learning import Learning
from gleaner.knowledge.retrieval import RetrievalResult
from gleaner.model import Citation, Grounding, Mode, Passage, SourceType, new_id
from gleaner.runtime.background import Background
from gleaner.runtime.deadline import Deadline
from gleaner.stores.keywords import IndexedKeyword
from gleaner.tools.workspace import Question, Workspace

passages = tuple(
    Passage(
        key=chunk["id"],
        content=chunk["content"],
        score=chunk["score"],
        source_type=SourceType.KNOWLEDGE_BASE,
        title=chunk["title"],
        chapter=chunk["chapter"],
        source_file_path=chunk["source_file_path"],
    )
    for chunk in PASSAGES["chunks"]
)
web_result = WebSearchResult(
    answer=WEB["answer"],
    citations=tuple(
        Citation(url=item["url"], title=item["title"], snippet=item["snippet"], date=item["date"])
        for item in WEB["citations"]
    ),
    model="perplexity/sonar",
    input_tokens=10,
    output_tokens=20,
    cost_usd=None,
)


class Web:
    def search(self, _query: str, **_: Any) -> WebSearchResult:
        return web_result


class Keywords:
    def index(self, keywords: list[str], *_: Any, **__: Any) -> list[IndexedKeyword]:
        return [IndexedKeyword(keyword_id=keyword, keyword_text=keyword, existed=False) for keyword in keywords]


model = chat_model.connect(
    api_key=lambda: "k",
    base_url=MODEL_URL,
    model="m",
    max_output_tokens=4096,
    api=chat_model.Api(sys.argv[3]),
)
tools, writes = ThreadPoolExecutor(8), ThreadPoolExecutor(8)
web: Any = Web()
keywords: Any = Keywords()


def ask(text: str) -> str:
    question = Question(
        query_id=new_id(),
        session_id=new_id(),
        text=text,
        kb_id="default_kb",
        mode=Mode.WHOLE_BOOK,
        grounding=Grounding.OPEN,
    )
    deadline = Deadline.after(25)
    workspace = Workspace(
        question=question,
        search=lambda _query, _kb_id, _top_k, _deadline: RetrievalResult(passages, False),
        has_knowledge_base=lambda _kb_id: True,
        web=web,
        learning=Learning(keywords),
        deadline=deadline,
        background=Background(writes, deadline),
    )
    Agent(model, workspace, tools, LoopLimits(), lambda _outcome: None).run(build_conversation(question, []))
    return workspace.answer.text if workspace.answer else ""


serve(ask)
