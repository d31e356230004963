import requests
from flask import Flask, request

app = Flask(__name__)


@app.get("/preview")
def preview():
    page = requests.get(request.args["url"], timeout=5)
    return page.text[:1000]
