"""What a call is shown: files, a map of the repository, retrieved code, and what fills the window."""

from agents.context.asked import requirement_name, said_once
from agents.context.files import existing_files, files_text

__all__ = ["existing_files", "files_text", "requirement_name", "said_once"]
