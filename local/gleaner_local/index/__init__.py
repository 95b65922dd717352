"""The embedded hybrid index: text records on disk, searched by words and by meaning."""
