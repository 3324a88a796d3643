"""What can be changed, a file a kind: each gives a plan, and writes nothing."""
