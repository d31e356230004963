"""Filters of the run page."""

from __future__ import annotations

from django import template

from dashboard import run_graph

register = template.Library()
register.filter("card_meta", run_graph.meta_of)
register.filter("clock_start", run_graph.clock_start)
