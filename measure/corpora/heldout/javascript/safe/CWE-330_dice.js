const roll = (sides = 6) => 1 + Math.floor(Math.random() * sides);
module.exports = { roll };
