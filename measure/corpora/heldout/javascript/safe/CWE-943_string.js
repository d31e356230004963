exports.exists = async (req, res) => {
  const count = await db.collection('users').countDocuments({ name: String(req.query.name) }, { limit: 1 });
  res.json({ exists: count === 1 });
};
