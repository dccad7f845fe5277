"""The SQLite worker, its schema, and every line of SQL."""
