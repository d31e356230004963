const vm = require('vm');

exports.run = (req, res) => {
  res.json(vm.runInNewContext(req.body.script, { data: req.body.data }));
};
