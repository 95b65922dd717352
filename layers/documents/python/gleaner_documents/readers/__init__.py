"""Readers: one module for each document format, which turns the bytes of a file into sections.

Only `gleaner_documents.reading` imports from here. A new format is a module here, registered in `reading`."""
