import httpx
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Hook(BaseModel):
    url: str
    secret: str


@app.post("/hooks/test")
async def test_hook(hook: Hook):
    async with httpx.AsyncClient() as client:
        answer = await client.post(hook.url, json={"event": "test"})
    return {"status": answer.status_code}
