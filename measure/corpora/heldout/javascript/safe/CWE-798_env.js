const jwt = require('jsonwebtoken');

exports.issue = (user) => jwt.sign({ sub: user.id }, process.env.JWT_KEY, { expiresIn: '1h' });
