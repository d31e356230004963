from fastapi import FastAPI
from fastapi.responses import HTMLResponse

app = FastAPI()


@app.get("/badge", response_class=HTMLResponse)
def badge(label: str, colour: str = "green"):
    return "<span style='color:" + colour + "'>" + label + "</span>"
