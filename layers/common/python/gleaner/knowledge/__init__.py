"""Passages for a query, from documents, the selected text and stored web answers; learning from web answers.

Tools and the agent import `retrieval`, `selection` and `learning`. A new source of passages goes here.
"""
