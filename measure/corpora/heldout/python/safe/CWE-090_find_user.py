import ldap
from flask import Flask, jsonify, request
from ldap.filter import escape_filter_chars

app = Flask(__name__)


@app.get("/people")
def people():
    name = escape_filter_chars(request.args["name"])
    connection = ldap.initialize("ldaps://directory.example.com")
    query = "(&(objectClass=person)(cn=" + name + "))"
    found = connection.search_s("ou=people,dc=example,dc=com", ldap.SCOPE_SUBTREE, query)
    return jsonify([dn for dn, _ in found])
