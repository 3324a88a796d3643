"""What the index keeps on disk: the manifest, LanceDB tables, the DuckDB catalogue and the vector cache."""
