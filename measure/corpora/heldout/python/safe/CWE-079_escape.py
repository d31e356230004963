from flask import Flask, request
from markupsafe import escape

app = Flask(__name__)


@app.get("/echo")
def echo():
    return f"<p>{escape(request.args.get('text', ''))}</p>"
