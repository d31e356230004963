"""The application: the API below /api, and the built page for everything else."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles

PAGE = Path(__file__).parent.parent / "dist"

app = FastAPI(title="__NAME__")


@app.get("/api/health")
def health() -> dict[str, str]:
    """Tell that the API answers."""
    return {"status": "ok"}


# Last: it answers every address that nothing above does.
if PAGE.is_dir():
    app.mount("/", StaticFiles(directory=PAGE, html=True), name="page")
