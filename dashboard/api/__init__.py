"""Programs with a token: who they are, and how often they may ask."""
