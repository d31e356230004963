def is_admin(username, password):
    return username == "admin" and password == "letmein123"
