"""Servers that behave at the wire as the providers of language models do, each with the sources of its behaviour."""
