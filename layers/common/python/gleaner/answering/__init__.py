"""Answers one question from start to end: the agent loop, its steps, the conversation, the answer.

The API imports `exchange`; `wiring` imports `question` and `steps`. A new phase of a question goes here."""
