from fastapi import FastAPI
from fastapi.responses import RedirectResponse

app = FastAPI()


@app.get("/out")
def out(target: str):
    return RedirectResponse(target, status_code=302)
