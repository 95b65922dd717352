"""Servers on loopback that speak the protocols of OpenAI, Perplexity and Pinecone.

`service` starts the modules without an underscore. A server for another protocol goes here."""
