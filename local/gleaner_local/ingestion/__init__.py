"""Synchronizes a knowledge base with files on this machine.

Commands import from here. Reading and cutting documents is the job of `gleaner_documents`."""
