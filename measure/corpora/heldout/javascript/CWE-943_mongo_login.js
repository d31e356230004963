exports.login = async (req, res) => {
  const user = await db.collection('users').findOne({ name: req.body.name, password: req.body.password });
  res.sendStatus(user ? 200 : 401);
};
