"""The application: every router is included here."""

from __future__ import annotations

from fastapi import FastAPI

app = FastAPI(title="__NAME__")


@app.get("/health")
def health() -> dict[str, str]:
    """Tell that the service answers."""
    return {"status": "ok"}
