import getpass

import ldap


def main():
    user = input("User: ")
    conn = ldap.initialize("ldaps://ldap.example.com")
    found = conn.search_s("dc=example,dc=com", ldap.SCOPE_SUBTREE, "(uid=" + user + ")")
    if found:
        conn.simple_bind_s(found[0][0], getpass.getpass())
        print("welcome")


if __name__ == "__main__":
    main()
