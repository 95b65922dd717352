"""Reads Markdown, plain text, HTML and PDF files into documents: titled sections in reading order."""
