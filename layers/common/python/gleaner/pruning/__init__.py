"""What the pruning function runs: settings, rules, and a run.

The API and the function import all three. A new rule goes into `rules`, its effect into `run`."""
