"""Readers: one module per document format, which turns the bytes of a file into sections.

Only `gleaner_documents.reading` imports from here. Add a format as a module here and register it in `reading`."""
