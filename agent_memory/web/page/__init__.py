"""The page: the memory at a glance, for people, on a port of its own. It reads the store; two buttons write."""
