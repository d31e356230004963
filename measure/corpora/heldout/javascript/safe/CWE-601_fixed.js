const app = require('express')();
const PAGES = { docs: '/docs', shop: '/shop' };

app.get('/go/:page', (req, res) => {
  res.redirect(PAGES[req.params.page] ?? '/');
});
