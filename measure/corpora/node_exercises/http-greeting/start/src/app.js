import { createServer } from "node:http";

/** What a path is answered with. */
export function answer(path) {
  const found = /^\/hello\/([^/]+)$/.exec(path);
  return found ? [200, { greeting: `Hello, ${found[1]}!` }] : [404, { error: "not found" }];
}

export function makeApp() {
  return createServer((request, response) => {
    const [status, body] = answer(request.url);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  });
}
