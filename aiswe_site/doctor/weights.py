"""Which weights fit the memory that is there.

Sizes of the files with four bits a weight (Q4_K_M) are those that Hugging Face lists for Qwen2.5-Coder
(second-state/Qwen2.5-Coder-14B-Instruct-GGUF and the same for other sizes) and the Ollama library for
qwen3-coder:30b. Bytes of a token of context follow from each model's config.json: 2 (keys and values) × layers × KV
heads × head size × 2 bytes. A server holds the context once for each conversation that it takes at a time
(docs.ollama.com/faq: OLLAMA_NUM_PARALLEL).
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass

GB = 1e9
MAIN_SHARE = 0.75  # of main memory: the system, the sandboxes and this product need the rest
RESERVE_GB = 1.5  # what the server computes in, and a little of the machine


@dataclass(frozen=True)
class Weights:
    """A model with four bits a weight: gigabytes of its file, and bytes that a token of context takes."""

    model: str
    file_gb: float
    token_bytes: int

    def need_gb(self, window: int, parallel: int) -> float:
        """Gigabytes with a context of `window` tokens for each of `parallel` conversations."""
        return self.file_gb + window * parallel * self.token_bytes / GB + RESERVE_GB


# Largest first.
KNOWN = (
    Weights("qwen2.5-coder:32b", 19.9, 262_144),
    Weights("qwen3-coder:30b", 18.6, 98_304),
    Weights("qwen2.5-coder:14b", 9.0, 196_608),
    Weights("qwen2.5-coder:7b", 4.7, 57_344),
    Weights("qwen2.5-coder:3b", 1.9, 36_864),
    Weights("qwen2.5-coder:1.5b", 1.0, 28_672),
)


def memory_gb() -> tuple[float, str]:
    """Gigabytes that weights may use, and where: on graphics cards where there are any, else in main memory."""
    try:
        argv = ("nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits")
        said = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=True, stdin=subprocess.DEVNULL)
        return sum(float(line) for line in said.stdout.split()) * 1024**2 / GB, "on graphics cards"
    except (OSError, subprocess.SubprocessError, ValueError):
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GB
        return machine * MAIN_SHARE, f"for weights, of {machine:.0f} GB of main memory"


def largest_that_fits(gigabytes: float, window: int, parallel: int) -> Weights | None:
    """The largest known weights for so much memory; None when not even the smallest fit."""
    return next((one for one in KNOWN if one.need_gb(window, parallel) <= gigabytes), None)


def known(model: str) -> Weights | None:
    """The entry of a model as Ollama names it, with whatever follows its size."""
    name = model.removesuffix(":latest").lower()
    return next((one for one in KNOWN if name == one.model or name.startswith(f"{one.model}-")), None)
