import pickle

import redis


def worker():
    queue = redis.Redis()
    while True:
        _, payload = queue.blpop("jobs")
        job = pickle.loads(payload)
        job.run()
