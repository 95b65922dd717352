"""Checks of the whole project that `make check` runs besides the tests."""
