"""Home Assistant as entity anchors see it: which entities there are, and nothing else."""
