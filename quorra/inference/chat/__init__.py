"""Chat backends: a GGUF in this process, an OpenAI-compatible server, a script."""
