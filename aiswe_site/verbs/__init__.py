"""The product's verbs for other programs: one table, offered as MCP tools, as the HTTP API, and to a remote CLI."""
