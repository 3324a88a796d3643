"""A note written: fields and text composed, an edit that touches only what it names."""
