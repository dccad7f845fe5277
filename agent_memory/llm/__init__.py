"""Model servers: clients, router, prompts and reply parsing."""
