"""Clients of what commands call: the HTTP API of a service and the control plane of Pinecone.

Commands, diagnosis and verification import from here. Add a client here if no deployed code needs it."""
