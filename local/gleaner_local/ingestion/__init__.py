"""Brings a knowledge base in step with files on this machine.

Commands import from here. What reads and cuts documents is in `gleaner_documents`."""
