const name = new URLSearchParams(location.search).get('name');
document.getElementById('greeting').textContent = `Hello ${name}`;
