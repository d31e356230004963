const express = require('express');
const app = express();

app.get('/download/:name', (req, res) => {
  res.sendFile(req.params.name, { root: '/srv/files', dotfiles: 'deny' });
});
