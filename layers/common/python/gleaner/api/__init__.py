"""The HTTP API: routes, request and response models, and the error table.

`wiring` builds it; the local mode imports the models. A new route is listed in `routes` and bound in the module of its
area."""
