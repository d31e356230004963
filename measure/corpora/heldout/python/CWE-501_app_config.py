from flask import Flask, request

app = Flask(__name__)


@app.post("/theme")
def theme():
    app.config[request.form["name"]] = request.form["value"]
    return "", 204
