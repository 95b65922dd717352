"""What `make check` asks of the whole project beside its tests."""
