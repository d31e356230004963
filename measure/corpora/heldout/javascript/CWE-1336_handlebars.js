const Handlebars = require('handlebars');

exports.mail = (req, res) => {
  const template = Handlebars.compile('Dear ' + req.body.greeting + ', {{body}}');
  res.send(template({ body: 'hello' }));
};
