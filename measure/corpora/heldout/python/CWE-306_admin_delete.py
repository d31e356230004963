from flask import Flask, jsonify

from .models import User, db

app = Flask(__name__)


@app.route("/admin/users/<int:user_id>", methods=["DELETE"])
def delete_user(user_id):
    db.session.delete(User.query.get_or_404(user_id))
    db.session.commit()
    return jsonify(deleted=user_id)
