"""The verbs, one file a family."""
