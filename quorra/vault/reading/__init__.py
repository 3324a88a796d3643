"""A note read: the bytes of a file, the YAML above and the Markdown below."""
