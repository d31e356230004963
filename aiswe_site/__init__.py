"""Wiring: settings, addresses, the server, the worker and the command line."""

from aiswe_site.celery import app as celery_app

__all__ = ["celery_app"]
