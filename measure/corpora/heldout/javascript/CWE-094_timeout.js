const code = new URLSearchParams(location.search).get('cb');
setTimeout('done(' + code + ')', 100);
