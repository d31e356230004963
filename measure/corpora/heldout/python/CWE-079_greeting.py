from flask import Flask, request

app = Flask(__name__)


@app.get("/hello")
def hello():
    return f"<h1>Hello {request.args.get('name', 'stranger')}</h1>"
