"""What shuts in every container that the product starts; each adds what it needs of its own."""

from __future__ import annotations

from typing import Any

import docker.types

MEGABYTE = 1024 * 1024


def confined(memory_mb: int, processes: int) -> dict[str, Any]:
    """docker-py's words for a host configuration: no capability, none to be gained, no swap, first to go for memory."""
    return {
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "ipc_mode": "private",
        "mem_limit": memory_mb * MEGABYTE,
        "memswap_limit": memory_mb * MEGABYTE,
        "pids_limit": processes,
        "oom_score_adj": 500,
    }


def bounded_log(megabytes: int = 1, files: int = 1) -> Any:
    """Output is kept by the engine up to this size."""
    config = {"max-size": f"{megabytes}m", "max-file": str(files)}
    return docker.types.LogConfig(type="json-file", config=config)


def is_root(user: str) -> bool:
    """Whether the user that an image names is root, as it is where none is named."""
    name = user.partition(":")[0]
    return name in ("", "root") or (name.isdecimal() and int(name) == 0)
