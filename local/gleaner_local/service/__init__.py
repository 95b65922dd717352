"""What `gleaner serve` runs: the servers, the functions behind the gateway, and their data.

Commands, diagnosis and ingestion import `parts` and `running`; `serve` imports `run`."""
