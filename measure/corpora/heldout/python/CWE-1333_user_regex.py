import re

from flask import request


def filter_lines(lines):
    pattern = re.compile(request.args["pattern"])
    return [line for line in lines if pattern.search(line)]
