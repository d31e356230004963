import ldap


def staff(conn):
    return conn.search_s("ou=staff,dc=example,dc=com", ldap.SCOPE_ONELEVEL, "(objectClass=person)", ["cn"])
