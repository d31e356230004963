const { exec } = require('child_process');

module.exports = function ping(req, res) {
  exec('ping -c 1 ' + req.query.host, (error, stdout) => res.send(stdout));
};
