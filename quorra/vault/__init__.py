"""Notes: parsed once into frozen values, validated, linked, serialized; nothing here writes."""
