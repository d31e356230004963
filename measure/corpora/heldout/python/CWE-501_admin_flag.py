from flask import Flask, jsonify, request, session

app = Flask(__name__)


@app.route("/api/session", methods=["PUT"])
def update_session():
    body = request.get_json()
    session["is_admin"] = body.get("is_admin", False)
    return jsonify(dict(session))
