"""The page that the service shows in a browser: static files, which call the API."""
