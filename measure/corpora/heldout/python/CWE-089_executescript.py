import sqlite3


def import_rows(request):
    table = request.POST["table"]
    values = request.POST["values"]
    with sqlite3.connect("data.db") as db:
        db.executescript("INSERT INTO %s VALUES (%s);" % (table, values))
