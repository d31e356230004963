from flask import Flask, jsonify, request

from .models import User, db

app = Flask(__name__)


@app.patch("/me")
def update_me():
    user = User.query.get(current_user_id())
    for key, value in request.get_json().items():
        setattr(user, key, value)
    db.session.commit()
    return jsonify(user.to_dict())
