const jwt = require('jsonwebtoken');

exports.user = (req) => jwt.verify(req.headers.authorization, process.env.KEY, { algorithms: ['HS256', 'none'] });
