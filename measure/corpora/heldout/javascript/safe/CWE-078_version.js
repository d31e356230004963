const { execFile } = require('child_process');

exports.version = (done) => execFile('git', ['--version'], (error, stdout) => done(error, stdout.trim()));
