from flask import Flask, abort, jsonify
from flask_login import current_user, login_required

from .models import User, db

app = Flask(__name__)


@app.route("/admin/users/<int:user_id>", methods=["DELETE"])
@login_required
def delete_user(user_id):
    if not current_user.is_admin:
        abort(403)
    db.session.delete(User.query.get_or_404(user_id))
    db.session.commit()
    return jsonify(deleted=user_id)
