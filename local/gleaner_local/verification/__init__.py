"""Checks of a running service from outside: what it promises, asked over its HTTP API alone."""
