const winston = require('winston');

exports.login = (req, res) => {
  winston.info('login failed for ' + req.body.user);
  res.sendStatus(401);
};
