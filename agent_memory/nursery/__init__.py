"""The long-running tasks, and main.py, which builds everything and opens the one nursery."""
