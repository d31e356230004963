import smtplib
import ssl


def send(message):
    with smtplib.SMTP_SSL("smtp.example.com", 465, context=ssl.create_default_context()) as server:
        server.send_message(message)
