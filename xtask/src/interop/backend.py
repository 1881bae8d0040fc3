"""An HTTP server in this folder that also takes files: `backend.py PORT`."""

import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    """GET as the standard library has it, and PUT."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        """Keeps what comes as the file `put`."""
        length = int(self.headers["Content-Length"])
        with open("put", "wb") as file:
            while length > 0:
                piece = self.rfile.read(min(length, 1 << 16))
                file.write(piece)
                length -= len(piece)
        self.send_response(201)
        self.send_header("Content-Length", "0")
        self.end_headers()


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
