from fastapi import Depends, FastAPI
from sqlalchemy import text
from sqlalchemy.orm import Session

from .db import get_session

app = FastAPI()


@app.get("/users/{name}")
def user(name: str, session: Session = Depends(get_session)):
    return session.execute(text(f"SELECT * FROM users WHERE name = '{name}'")).mappings().all()
