"""One question from start to end: the agent loop, its steps, the conversation, the answer.

The API imports `question` and `exchange`; `wiring` also imports `steps`. A new phase of a question goes here."""
