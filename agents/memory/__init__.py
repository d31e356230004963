"""What was learned from repairs that worked, kept to be found again; and what turns texts into vectors."""

import os

# Before numpy is loaded: several threads for matrices as small as MiniLM's take ten times the CPU on a busy machine.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
