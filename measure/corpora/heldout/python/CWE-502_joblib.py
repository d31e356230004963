import joblib
from fastapi import FastAPI, UploadFile

app = FastAPI()


@app.post("/models")
async def upload_model(file: UploadFile):
    model = joblib.load(file.file)
    return {"classes": list(model.classes_)}
