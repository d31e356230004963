"""Failed builds of small repositories: what is wrong in each, and the log that the real tool wrote."""
