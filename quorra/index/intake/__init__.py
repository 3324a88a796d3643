"""What comes into the index: texts from a source, parsed and cut into passages."""
