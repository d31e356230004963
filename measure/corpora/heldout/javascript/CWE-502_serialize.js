const serialize = require('node-serialize');

exports.profile = (req, res) => {
  const raw = Buffer.from(req.cookies.profile, 'base64').toString();
  res.json(serialize.unserialize(raw));
};
