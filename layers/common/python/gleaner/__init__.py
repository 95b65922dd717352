"""Gleaner: a question-answering service over your own documents that learns from the web."""

__version__ = "0.1.0"
