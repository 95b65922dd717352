"""Finds documents, reads them, cuts them into chunks and compares them with what is stored.

Imports only the domain words of `gleaner`; not part of the query function's layer."""
