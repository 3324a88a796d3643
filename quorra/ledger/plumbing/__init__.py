"""The parts of git that commits are made of: processes, objects, the index, files on disk."""
