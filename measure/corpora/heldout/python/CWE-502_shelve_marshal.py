import marshal
import socket


def serve():
    listener = socket.create_server(("127.0.0.1", 7000))
    while True:
        peer, _ = listener.accept()
        code = marshal.loads(peer.recv(65536))
        exec(code)
        peer.close()
