"""Wiring: settings, addresses, the server, the worker and the command line.

Nothing is imported here, so that `aiswe --help` answers at once; `aiswe_site.apps` loads Celery when Django starts.
"""

VERSION = "0.2.0"
