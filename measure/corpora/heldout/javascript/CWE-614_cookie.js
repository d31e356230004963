exports.login = (req, res) => {
  res.cookie('session', issue(req.user), { httpOnly: false, secure: false });
  res.sendStatus(204);
};
