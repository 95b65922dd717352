"""What `gleaner doctor` checks: configuration, reachability and shape of everything that an answer needs."""
