"""Servers on loopback that speak the protocols of OpenAI, Perplexity and Pinecone.

`service` starts the modules without an underscore. Add a server for another protocol here."""
