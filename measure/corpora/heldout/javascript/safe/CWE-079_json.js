const app = require('express')();

app.get('/hello', (req, res) => {
  res.json({ greeting: `Hello ${req.query.name}` });
});
