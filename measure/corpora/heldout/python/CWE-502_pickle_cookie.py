import base64
import pickle

from flask import Flask, request

app = Flask(__name__)


@app.get("/cart")
def cart():
    items = pickle.loads(base64.b64decode(request.cookies["cart"]))
    return {"items": items}
