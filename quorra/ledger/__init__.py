"""Git as the only place where text is kept: commits, adoption, snapshots, history."""
