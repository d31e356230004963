from fastapi import Depends, FastAPI
from sqlalchemy import text
from sqlalchemy.orm import Session

from .db import get_session

app = FastAPI()


@app.get("/users/{name}")
def user(name: str, session: Session = Depends(get_session)):
    return session.execute(text("SELECT id FROM users WHERE name = :name"), {"name": name}).mappings().all()
