import os

import jwt
from flask import g, request


def load_user():
    token = request.headers["Authorization"].removeprefix("Bearer ")
    g.user = jwt.decode(token, os.environ["JWT_PUBLIC_KEY"], algorithms=["RS256"], audience="shop")["sub"]
