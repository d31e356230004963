document.write('<p>You came from ' + document.referrer + '</p>');
document.write('<a href="' + location.hash.slice(1) + '">back</a>');
