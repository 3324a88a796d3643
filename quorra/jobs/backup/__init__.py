"""One file that keeps a whole home, made while it is in use, and the way back from it."""
