exports.profile = (req, res) => {
  const raw = Buffer.from(req.signedCookies.profile, 'base64').toString();
  res.json(JSON.parse(raw));
};
