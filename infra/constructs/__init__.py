"""The parts that the stacks are put together from."""
