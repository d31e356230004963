"""Lessons from repairs that worked, how they are found again, and embeddings."""

import os

# Before numpy is loaded: several threads for matrices as small as MiniLM's take ten times the CPU on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
