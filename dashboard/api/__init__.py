"""The JSON API: for programs with a token, beside the pages for people."""
