"""The constructs that make up the stacks."""
