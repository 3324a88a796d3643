"""Chat and embedding models behind one protocol each."""
