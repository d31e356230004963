import subprocess

from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Job(BaseModel):
    url: str
    branch: str = "main"


@app.post("/clone")
def clone(job: Job):
    out = subprocess.check_output("git clone -b %s %s /tmp/work" % (job.branch, job.url), shell=True)
    return {"output": out.decode()}
