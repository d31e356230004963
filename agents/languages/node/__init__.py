"""JavaScript and TypeScript on Node."""
