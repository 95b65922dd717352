"""Clients of remote services; vendor shapes stop here."""
