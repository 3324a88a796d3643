"""Embedders: MiniLM or a GGUF in this process, or an OpenAI-compatible server."""
