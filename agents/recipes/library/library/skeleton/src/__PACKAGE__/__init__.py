"""__NAME__: what others may import."""

from __future__ import annotations

__all__ = ["LibraryError", "__version__"]
__version__ = "0.1.0"


class LibraryError(Exception):
    """The base of all errors that this library raises."""
