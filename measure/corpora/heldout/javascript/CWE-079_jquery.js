$('#result').html('Results for ' + new URL(location.href).searchParams.get('q'));
