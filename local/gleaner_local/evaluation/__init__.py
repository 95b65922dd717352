"""What `gleaner eval` does: asks cases of a service, measures the answers and compares them with a baseline."""
