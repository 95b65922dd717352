"""The `gleaner` command: one module for each command, and what commands share.

Nothing imports from here except the entry point. A new command is a module here, registered in `main`."""
