import os

import psycopg2


def connect():
    return psycopg2.connect(
        host=os.environ["DB_HOST"], user=os.environ["DB_USER"], password=os.environ["DB_PASSWORD"], dbname="billing"
    )
