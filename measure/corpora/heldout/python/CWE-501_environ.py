import os

from flask import Flask, request

app = Flask(__name__)


@app.post("/settings/proxy")
def set_proxy():
    os.environ["HTTPS_PROXY"] = request.form["proxy"]
    return "saved"
