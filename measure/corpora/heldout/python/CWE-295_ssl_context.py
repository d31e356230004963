import smtplib
import ssl


def send(message):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with smtplib.SMTP_SSL("smtp.example.com", 465, context=context) as server:
        server.send_message(message)
