"""`aiswe acp`: conversations held in an editor, by the Agent Client Protocol."""
