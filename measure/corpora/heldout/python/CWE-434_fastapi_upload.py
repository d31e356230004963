import shutil

from fastapi import FastAPI, UploadFile

app = FastAPI()


@app.post("/upload")
async def upload(file: UploadFile):
    with open(f"static/{file.filename}", "wb") as out:
        shutil.copyfileobj(file.file, out)
    return {"name": file.filename}
