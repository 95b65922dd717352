"""The extractive model: a deterministic replacement for a language model that only quotes."""
