const app = require('express')();

app.get('/proxy', async (req, res) => {
  const answer = await fetch(req.query.url);
  res.send(await answer.text());
});
