"""The HTTP API: routes, request and response models, and the error table."""
