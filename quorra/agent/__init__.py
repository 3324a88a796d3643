"""From a question to a verified answer: prompt, model, verifier, citations."""
