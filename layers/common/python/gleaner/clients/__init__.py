"""Clients of remote services. Vendor formats stop here: callers see only the types of `model`."""
