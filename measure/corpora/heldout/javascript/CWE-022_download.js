const express = require('express');
const path = require('path');
const app = express();

app.get('/download', (req, res) => {
  res.sendFile(path.join(__dirname, 'files', req.query.name));
});
