from flask import Flask, request
from pymongo import MongoClient

app = Flask(__name__)
users = MongoClient().app.users


@app.get("/exists")
def exists():
    return {"found": users.count_documents({"name": str(request.args["name"])}, limit=1) == 1}
