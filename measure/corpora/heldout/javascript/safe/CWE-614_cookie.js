exports.login = (req, res) => {
  res.cookie('session', issue(req.user), { httpOnly: true, secure: true, sameSite: 'strict' });
  res.sendStatus(204);
};
