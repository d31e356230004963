from flask import Flask, make_response

app = Flask(__name__)


@app.post("/session")
def start():
    response = make_response("welcome")
    response.set_cookie("session_id", new_id(), httponly=False, secure=False)
    return response
