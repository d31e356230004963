const jwt = require('jsonwebtoken');

exports.issue = (user) => jwt.sign({ sub: user.id }, 'super-secret-key-123', { expiresIn: '1h' });
