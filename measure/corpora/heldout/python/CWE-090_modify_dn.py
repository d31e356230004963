from flask import Flask, request
from ldap3 import MODIFY_REPLACE, Connection

app = Flask(__name__)


@app.post("/profile/phone")
def change_phone():
    user = request.form["user"]
    connection = Connection("ldaps://ldap.example.com", auto_bind=True)
    connection.modify(
        "cn=" + user + ",ou=people,dc=example,dc=com",
        {"telephoneNumber": [(MODIFY_REPLACE, [request.form["phone"]])]},
    )
    return {"result": connection.result["description"]}
