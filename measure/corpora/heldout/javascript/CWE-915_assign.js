exports.update = async (req, res) => {
  const user = await User.findById(req.user.id);
  Object.assign(user, req.body);
  await user.save();
  res.json(user);
};
