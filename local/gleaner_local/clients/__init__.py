"""What commands call: the HTTP API of a service, and the control plane of Pinecone.

Commands, diagnosis and verification import from here. A client that no deployed code needs goes here."""
