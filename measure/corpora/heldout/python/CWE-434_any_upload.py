import os

from flask import Flask, request

app = Flask(__name__)


@app.post("/avatar")
def avatar():
    picture = request.files["picture"]
    picture.save(os.path.join("static/avatars", picture.filename))
    return "", 201
