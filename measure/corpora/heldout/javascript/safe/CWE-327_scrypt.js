const crypto = require('crypto');

exports.hashPassword = (password) => {
  const salt = crypto.randomBytes(16);
  return salt.toString('hex') + crypto.scryptSync(password, salt, 64).toString('hex');
};
