const { spawn } = require('child_process');

exports.log = (req, res) => {
  const child = spawn('git log ' + req.params.branch, { shell: true });
  child.stdout.pipe(res);
};
