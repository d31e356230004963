import jwt

SIGNING_KEY = "s3cr3t-s1gning-k3y"


def issue(user_id):
    return jwt.encode({"sub": user_id}, SIGNING_KEY, algorithm="HS256")
