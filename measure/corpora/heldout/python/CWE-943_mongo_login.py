from flask import Flask, request
from pymongo import MongoClient

app = Flask(__name__)
users = MongoClient().app.users


@app.post("/login")
def login():
    body = request.get_json()
    found = users.find_one({"name": body["name"], "password": body["password"]})
    return ("ok", 200) if found else ("no", 401)
