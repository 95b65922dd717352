"""Messages by which chat clients ask for titles and the like, built as they build them.

Their first and last lines, and how the conversation stands between them, are those of Open WebUI
(backend/open_webui/config.py and `get_messages_content` in utils/misc.py) and of LibreChat (src/utils/title.ts and
src/run.ts of danny-avila/agents; api/app/clients/OpenAIClient.js until 2025). Their guidelines are shortened.
"""

from __future__ import annotations

from collections.abc import Sequence

Turns = Sequence[tuple[str, str]]


def open_webui(opening: str, form: str, turns: Turns, *, heading: str = "### Task:\n") -> str:
    """A message from one of its templates; `form` is the JSON that it shows as an example."""
    history = "\n".join(f"{role.upper()}: {text}" for role, text in turns)
    return (
        f"{heading}{opening}\n### Guidelines:\n- Use the chat's primary language.\n### Output:\nJSON format: {form}\n"
        f"### Chat History:\n<chat_history>\n{history}\n</chat_history>"
    )


def title(turns: Turns) -> str:
    """For a title, in 2026."""
    return open_webui("Generate a concise title summarizing the chat history.", '{ "title": "x" }', turns[-2:])


def title_of_2025(turns: Turns) -> str:
    """For a title, in 2025."""
    opening = "Generate a concise, 3-5 word title with an emoji summarizing the chat history."
    return open_webui(opening, '{ "title": "x" }', turns[-2:])


def tags(turns: Turns) -> str:
    """For tags."""
    opening = "Generate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific."
    return open_webui(opening, '{ "tags": ["tag1"] }', turns[-6:])


def follow_ups(turns: Turns) -> str:
    """For messages that may follow, in 0.12.4."""
    opening = "Predict 3-5 useful messages this user might naturally send next to advance their current objective."
    return open_webui(opening, '{ "follow_ups": ["Suggested next message 1"] }', turns[-5:])


def follow_ups_of_2025(turns: Turns) -> str:
    """For questions that may follow, until 2026."""
    opening = "Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next."
    return open_webui(opening, '{ "follow_ups": ["Question 1?"] }', turns[-6:])


def queries(turns: Turns) -> str:
    """For search queries; ends with a line break."""
    opening = "Analyze the chat history to determine the necessity of generating search queries, in the given language."
    return open_webui(opening, '{ "queries": ["query1"] }', turns[-6:]) + "\n"


def continuation(turns: Turns, typed: str) -> str:
    """For what the user may type next."""
    history = "\n".join(f"{role.upper()}: {text}" for role, text in turns)
    return (
        "### Task:\nYou are an autocompletion system. Continue the text in `<text>`.\n"
        '5. If unsure, return: `{ "text": "" }`.\n### **Examples**:\n<text>Top-rated restaurants in</text>\n'
        f"---\n### Context:\n<chat_history>\n{history}\n</chat_history>\n<type>General</type>  \n"
        f"<text>{typed}</text>  \n#### Output:\n"
    )


def libre_chat(question: str, answer: str) -> str:
    """For a title, by a completion."""
    return (
        "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. "
        f"Only return the title itself.\n\nConversation:\nUser: {question}\nAI: {answer}"
    )


def libre_chat_structured(question: str, answer: str) -> str:
    """For a title, by structured output."""
    return (
        "Analyze this conversation and provide:\n1. The detected language of the conversation\n"
        "2. A concise title in the detected language (5 words or less, no punctuation or quotation)\n\n"
        f"User: {question}\nAI: {answer}"
    )


def libre_chat_of_2024(question: str, answer: str) -> str:
    """For a title, until 2025; sent as a system message."""
    return (
        "Please generate a concise, 5-word-or-less title for the conversation, using its same language, with no "
        f'punctuation.\n\n||>User:\n"{question}"\n||>Response:\n"{answer}"\n\n||>Title:'
    )
