window.addEventListener('message', (event) => {
  document.getElementById('view').innerHTML = event.data.html;
});
