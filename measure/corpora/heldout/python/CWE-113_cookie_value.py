from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote, urlsplit


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        self.send_response(200)
        self.send_header("Set-Cookie", "theme=" + unquote(query["theme"][0]))
        self.end_headers()
