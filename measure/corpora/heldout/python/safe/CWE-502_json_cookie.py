import json

from flask import Flask, request
from itsdangerous import URLSafeSerializer

app = Flask(__name__)


@app.get("/cart")
def cart():
    signer = URLSafeSerializer(app.config["SECRET_KEY"])
    return {"items": json.loads(signer.loads(request.cookies["cart"]))}
