const fs = require('fs');
const http = require('http');

http.createServer((req, res) => {
  const target = './public' + decodeURIComponent(req.url);
  fs.createReadStream(target).pipe(res);
}).listen(8080, '127.0.0.1');
