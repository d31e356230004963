const libxml = require('libxmljs');

exports.parse = (req, res) => {
  const doc = libxml.parseXml(req.body, { noent: true, dtdload: true });
  res.send(doc.root().text());
};
