const mysql = require('mysql2');
const pool = mysql.createPool({ host: process.env.DB_HOST });

exports.find = (req, res) => {
  pool.query("SELECT * FROM users WHERE name = '" + req.query.name + "'", (error, rows) => res.json(rows));
};
