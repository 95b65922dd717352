"""What every process needs: settings, logs, metrics, traces, deadlines, retries and prices.

Any room above may import from here. A new environment variable goes into `settings`, a new metric into `telemetry`."""
