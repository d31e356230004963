from fastapi import FastAPI, HTTPException
from fastapi.responses import RedirectResponse

app = FastAPI()
PARTNERS = {"docs": "https://docs.example.com/", "shop": "https://shop.example.com/"}


@app.get("/out")
def out(partner: str):
    target = PARTNERS.get(partner)
    if target is None:
        raise HTTPException(404, "unknown partner")
    return RedirectResponse(target, status_code=302)
