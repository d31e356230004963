"""Review gates: scanners that must all run, and one verdict that is "blocked" unless everything is proved fine."""
