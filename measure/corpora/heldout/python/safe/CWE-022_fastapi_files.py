from enum import StrEnum

from fastapi import FastAPI
from fastapi.responses import FileResponse

app = FastAPI()


class Document(StrEnum):
    terms = "terms.pdf"
    privacy = "privacy.pdf"


@app.get("/files/{document}")
async def read_file(document: Document):
    return FileResponse(f"/data/public/{document.value}")
