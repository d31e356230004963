function later(work) {
  setTimeout(() => work(), 100);
}
module.exports = { later };
