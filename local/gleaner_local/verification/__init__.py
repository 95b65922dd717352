"""What `gleaner verify` checks: the promises of a running service, over its HTTP API alone."""
