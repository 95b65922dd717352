"""The `gleaner` command: one module per command, and what commands share.

Only the entry point imports from here. Add a command as a module here and register it in `main`."""
