import ldap3
from fastapi import FastAPI

app = FastAPI()
SERVER = ldap3.Server("ldap.example.com", use_ssl=True)


@app.get("/groups/{group}")
def members(group: str):
    connection = ldap3.Connection(SERVER, auto_bind=True)
    connection.search(
        search_base="ou=groups,dc=example,dc=com",
        search_filter="(&(objectClass=groupOfNames)(cn=%s))" % group,
        attributes=["member"],
    )
    return [str(entry.member) for entry in connection.entries]
