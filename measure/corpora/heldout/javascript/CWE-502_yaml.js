const yaml = require('js-yaml');

exports.load = (req, res) => {
  res.json(yaml.load(req.body.text, { schema: yaml.DEFAULT_FULL_SCHEMA }));
};
