import ftplib
import os


def push(path):
    with ftplib.FTP("ftp.example.com") as ftp, open(path, "rb") as data:
        ftp.login(os.environ["FTP_USER"], os.environ["FTP_PASSWORD"])
        ftp.storbinary("STOR in.csv", data)
