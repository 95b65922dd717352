"""The Model Context Protocol over HTTP: messages, versions, tools and the methods of a server without sessions."""
