from flask import Flask, make_response, request

app = Flask(__name__)


@app.route("/sso/return")
def sso_return():
    response = make_response("", 303)
    response.headers["Location"] = request.args["RelayState"]
    return response
