"""Untrusted text made safe to show: plain, as Markdown, as highlighted source, as a diff."""
