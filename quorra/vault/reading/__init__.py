"""Reads the two languages of a note: the YAML above and the Markdown below."""
