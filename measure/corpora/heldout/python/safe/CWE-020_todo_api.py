from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

app = FastAPI()


class Todo(BaseModel):
    title: str = Field(min_length=1, max_length=200)
    done: bool = False


todos: dict[int, Todo] = {}


@app.post("/todos", status_code=201)
def add(todo: Todo) -> dict[str, int]:
    number = len(todos) + 1
    todos[number] = todo
    return {"id": number}


@app.get("/todos/{number}")
def read(number: int) -> Todo:
    if number not in todos:
        raise HTTPException(404, "no such todo")
    return todos[number]
