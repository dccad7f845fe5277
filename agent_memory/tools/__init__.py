"""The memory_* tools: one module a family, each tool one typed function."""
