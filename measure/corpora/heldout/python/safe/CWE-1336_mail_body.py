from django.template.loader import render_to_string


def mail_body(user):
    return render_to_string("mail/welcome.txt", {"user": user})
