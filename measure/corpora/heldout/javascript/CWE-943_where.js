exports.older = async (req, res) => {
  res.json(await People.find({ $where: 'this.age > ' + req.query.age }));
};
