"""The HTTP fronts: request rules, authentication, MCP, REST, health and the page."""
