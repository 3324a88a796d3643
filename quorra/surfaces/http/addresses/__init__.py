"""The service's addresses, a file a family."""
