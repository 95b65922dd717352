"""Servers that answer as a test scripts them, behind the real clients."""
