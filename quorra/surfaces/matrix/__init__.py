"""The Matrix bot: a client of the service over HTTP, with no model, tool or home of its own."""
