exports.find = (req, res) => {
  pool.query('SELECT id, name FROM users WHERE name = ?', [req.query.name], (error, rows) => res.json(rows));
};
