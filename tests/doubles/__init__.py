"""Servers that tests script and call through the real clients."""
