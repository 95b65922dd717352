"""Gleaner answers questions from your own documents and learns from the web."""

__version__ = "0.1.0"
