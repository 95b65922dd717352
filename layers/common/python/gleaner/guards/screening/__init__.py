"""Detects signs of attacks in texts, and questions about them. New signs go into the two modules of signs."""
