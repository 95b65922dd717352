"""The extractive model: a deterministic stand-in for a language model that quotes and never writes."""
