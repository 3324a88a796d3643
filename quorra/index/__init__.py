"""The derived side: passages, the catalogue, vectors and words, and search over them."""
