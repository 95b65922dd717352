"""Reads texts for signs of an attack, and for whether they ask about it."""
