from pymongo import MongoClient


def older_than(request):
    people = MongoClient().app.people
    return list(people.find({"$where": "this.age > " + request.GET["age"]}))
