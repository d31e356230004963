exports.search = async (req, res) => {
  const rows = await sequelize.query(`SELECT * FROM products WHERE title LIKE '%${req.query.q}%'`);
  res.json(rows);
};
