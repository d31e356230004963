import os

from flask import Flask, request

app = Flask(__name__)


@app.get("/ping")
def ping():
    host = request.args["host"]
    return os.popen("ping -c 1 " + host).read()
