const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

exports.mark = (text, word) => text.replace(new RegExp(`\\b${escape(word)}\\b`, 'g'), (hit) => hit.toUpperCase());
