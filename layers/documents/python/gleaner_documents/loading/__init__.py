"""Writes documents into a knowledge base, from whichever place they come. Reading them imports nothing from here."""
