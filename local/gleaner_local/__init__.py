"""Gleaner on one machine: servers that speak the protocols of the remote services, and the command."""
