exports.filter = (req, res) => {
  const pattern = new RegExp(req.query.pattern);
  res.json(names.filter((name) => pattern.test(name)));
};
