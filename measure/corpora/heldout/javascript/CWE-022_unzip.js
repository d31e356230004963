const AdmZip = require('adm-zip');
const fs = require('fs');
const path = require('path');

function unpack(file, target) {
  for (const entry of new AdmZip(file).getEntries()) {
    fs.writeFileSync(path.join(target, entry.entryName), entry.getData());
  }
}
module.exports = { unpack };
