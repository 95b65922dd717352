"""Passages for a query: chunks of documents, the selected text, and what the web taught.

Tools import `retrieval`, `selection` and `learning`. A new source of passages goes here."""
