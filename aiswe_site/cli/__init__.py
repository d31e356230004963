"""The `aiswe` command. Its words, documents and exit codes are a contract; see docs/cli.md."""

from aiswe_site.cli.app import main

__all__ = ["main"]
