import psycopg2
from flask import request


def delete_comment():
    conn = psycopg2.connect("dbname=blog")
    with conn.cursor() as cur:
        cur.execute("DELETE FROM comments WHERE id = {} AND author = '{}'".format(request.form["id"], request.form["author"]))
    conn.commit()
