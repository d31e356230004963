import json
from pathlib import Path


def load(path: Path) -> dict[str, str]:
    """Read the settings file that the command line named."""
    return json.loads(path.read_text(encoding="utf-8"))
