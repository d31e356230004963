"""The recorded demo: who starts it, who says yes in it, and what came of it."""
