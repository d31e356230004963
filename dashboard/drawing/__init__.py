"""Graphs and time lines as shapes for SVG, and how a state looks."""
