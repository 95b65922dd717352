"""Gleaner on one machine: the `gleaner` command, and servers that speak the protocols of the remote services."""
