const ejs = require('ejs');

exports.preview = (req, res) => {
  res.send(ejs.render(req.body.template, { user: req.user }));
};
