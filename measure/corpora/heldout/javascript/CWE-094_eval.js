const app = require('express')();

app.get('/calc', (req, res) => {
  res.json({ result: eval(req.query.formula) });
});
