"""The client and real servers that are killed. With `DLOCK_TEST_PROGRAM=PATH` of a dlock-server; it starts its own."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from dlock import Held, Lost, Server

DURATION = 12.0
"""Of leases: long enough for a server to come back, and for a thread to learn of a loss, on any machine."""


class Process:
    """A server, which can be killed and restarted in its place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = "127.0.0.1:0"
        self.start()
        self.client = Server(f"http://{self.address}")

    def start(self) -> None:
        """Returns when it listens."""
        program = os.environ["DLOCK_TEST_PROGRAM"]
        store = f"sqlite:{self.folder / 'locks.db'}"
        self.process = subprocess.Popen(
            [program, "--store", store, "--listen", self.address], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        log = self.process.stdout
        assert log is not None
        said = b""
        for line in log:
            said += line
            listening = re.search(rb"listening url=\S*http://([0-9.:]+)", line)
            if listening is not None:
                self.address = listening[1].decode()
                # Its later output must not fill the pipe.
                self.reader = threading.Thread(target=log.read)
                self.reader.start()
                return
        raise AssertionError(f"the server does not start: {said.decode()}")

    def miss(self) -> None:
        """Lets one request fail while the server is away."""
        host, port = self.address.split(":")
        with socket.create_server((host, int(port))) as listener:
            listener.settimeout(60)
            listener.accept()[0].close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.reader.join()
        if self.process.stdout is not None:
            self.process.stdout.close()


@unittest.skipUnless("DLOCK_TEST_PROGRAM" in os.environ, "asked for by DLOCK_TEST_PROGRAM=PATH of a dlock-server")
class Restart(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = self.serve()

    def serve(self) -> Process:
        """One more server of the same store."""
        server = Process(self.folder)
        self.addCleanup(server.kill)
        return server

    def test_lease_outlives_its_server(self) -> None:
        with self.server.client.lock("a", duration=DURATION) as lease:
            self.server.kill()
            self.server.miss()
            self.server.start()
            # Longer than without a renewal.
            self.assertFalse(lease.lost.wait(DURATION))
            with self.assertRaises(Held), self.server.client.try_lock("a", duration=DURATION):
                self.fail("both have it")
        with self.server.client.try_lock("a", duration=DURATION) as second:
            self.assertGreater(second.token, lease.token)

    def test_loss_is_told_before_another_has_the_lock(self) -> None:
        other = self.serve()
        with self.assertRaises(Lost), self.server.client.lock("a", duration=DURATION) as lease:
            self.server.kill()
            with other.client.lock("a", duration=DURATION, wait=10 * DURATION) as second:
                self.assertTrue(lease.lost.is_set(), "nobody was told")
                self.assertGreater(second.token, lease.token)
            self.server.start()
            self.assertFalse(lease.valid)


if __name__ == "__main__":
    unittest.main()
