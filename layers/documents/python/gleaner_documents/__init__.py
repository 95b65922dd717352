"""Documents on their way into a knowledge base: found, read, cut into chunks, compared with what is stored.

Imports the domain words of `gleaner` and nothing else of it; not part of the layer of the query function."""
