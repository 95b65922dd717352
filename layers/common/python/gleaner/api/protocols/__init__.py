"""The protocols in which answers are sent while they are made."""
