from fastapi import FastAPI
from fastapi.responses import FileResponse

app = FastAPI()


@app.get("/files/{file_path:path}")
async def read_file(file_path: str):
    return FileResponse(f"/data/public/{file_path}")
