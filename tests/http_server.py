"""A real HTTP server that speaks as an OpenAI-compatible one, and can be told to misbehave."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # the default of 5 resets connections on a busy machine

    def __init__(self, behave):
        self.behave = behave
        self.requests, self.headers, self.busy, self.most_busy = [], [], 0, 0
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):  # a client that hung up is what some tests are about
            super().handle_error(request, client_address)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.lock:
            server.requests.append((self.path, body))
            server.headers.append(dict(self.headers))
            server.busy += 1
            server.most_busy = max(server.most_busy, server.busy)
        try:
            status, answer = server.behave(body, len(server.requests))
        finally:
            with server.lock:
                server.busy -= 1
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def said(text):
    return {"choices": [{"message": {"role": "assistant", "content": text}}]}


def echo(body, _):
    return 200, said(body["messages"][-1]["content"].upper())
