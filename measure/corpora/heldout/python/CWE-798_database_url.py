import psycopg2


def connect():
    return psycopg2.connect(host="db.example.com", user="billing", password="Tr0ub4dor&3", dbname="billing")
