"""What a model is told before anybody speaks: prompt files, modes, and what was said before."""
