import os
from http.server import BaseHTTPRequestHandler, HTTPServer

ROOT = os.path.abspath("public")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        target = ROOT + self.path
        try:
            with open(target, "rb") as handle:
                body = handle.read()
        except OSError:
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
