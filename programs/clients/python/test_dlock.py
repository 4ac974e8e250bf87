"""The client against a server that lies, hangs, repeats and loses replies.

Most tests move the clock by hand, so that a busy machine changes nothing: `dlock.now` is replaced, and the store of
the fake server reads the same clock. With `DLOCK_TEST_SERVER=http://HOST:PORT` some run against a real server too.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import http.server
import itertools
import json
import os
import random
import signal
import socket
import ssl
import sys
import tempfile
import threading
import time
import types
import unittest
import uuid
import warnings
from typing import Any, Callable, Iterator, Mapping
from unittest import mock

import dlock
from dlock import Held, Lease, Lost, Refused, Server, Unreachable

D = 1.0
"""The duration of most leases. The client looks at a clock moved by hand every tenth of it, in real time."""
LONG = 600.0
"""The duration of leases under a clock that stands still. A request may take a minute of real time then."""
TOKEN = "s3cret-of-the-tests"


def eventually(condition: Callable[[], Any], what: str, seconds: float = 20.0) -> Any:
    """Waits for a condition in real time, for so long that no machine is too busy."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.002)
    raise AssertionError(f"not within {seconds} s: {what}")


class Interrupt(Exception):
    """Raised by a signal handler."""


def interrupt(*_: object) -> None:
    raise Interrupt


def threads(what: str) -> int:
    return list(dlock._running.values()).count(what)


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += seconds

    @contextlib.contextmanager
    def running(self, rate: float) -> Iterator[None]:
        """Advances in small steps by itself: on a busy machine it is slow, but never jumps."""
        stop = threading.Event()

        def run() -> None:
            while not stop.wait(0.002):
                self.time += 0.002 * rate

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


class Request:
    def __init__(self, what: str, body: dict[str, Any], token: str | None, at: float) -> None:
        self.what = what
        self.body = body
        self.token = token
        self.at = at


class Store:
    """An honest store in memory: rules A1 to A7, R1 to R3, L1 to L3, and waiting requests."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.mutex = threading.Condition()
        self.records: dict[str, dict[str, Any]] = {}
        self.asked = False
        self.observed = False
        """No clock of the store decides that a lease has ended: contenders have to observe."""

    def do(self, request: Request) -> tuple[int, dict[str, Any]]:
        return {"acquire": self.acquire, "renew": self.renew, "release": self.release}[request.what](request.body)

    def expired(self, record: Mapping[str, Any]) -> bool:
        return not self.observed and bool(self.clock() >= record["expiry"])

    def shown(self, record: dict[str, Any]) -> dict[str, Any]:
        shown = {field: value for field, value in record.items() if field != "expiry"}
        shown["uuid"] = dlock._shown(record["uuid"])
        if not self.observed:
            shown["remaining_ms"] = int(max(0.0, record["expiry"] - self.clock()) * 1000) + 1
        return shown

    def acquire(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.mutex:
            waited = self.look(body)
            record = self.records.get(body["name"])
            if record is not None and record["uuid"] == body["uuid"]:
                if record["released"] or self.expired(record):
                    return problem("spent")
                return 200, {"token": record["token"], "waited_ms": waited}
            prev = body.get("prev")
            if record is not None and not record["released"] and not self.expired(record):
                known = [record["uuid"], dlock._shown(record["uuid"])][: 1 + self.observed]
                if prev not in [{"uuid": term, "renewals": record["renewals"]} for term in known]:
                    return problem("held", record=self.shown(record))
            self.records[body["name"]] = {
                "uuid": body["uuid"], "renewals": 0, "owner": body.get("owner", ""), "since": "2026-01-01T00:00:00Z",
                "token": (record["token"] if record else 0) + 1, "duration_ms": body["duration_ms"],
                "released": False, "asked": False, "expiry": self.clock() + body["duration_ms"] / 1000,
            }  # fmt: skip
            return 200, {"token": self.records[body["name"]]["token"], "waited_ms": waited}

    def look(self, body: dict[str, Any]) -> int:
        """Waits until the name may be free; returns for how long it was certainly not this request's."""
        begun = self.clock()
        waited = 0.0
        while body.get("wait_ms"):
            passed = self.clock() - begun
            record = self.records.get(body["name"])
            if record is not None and record["uuid"] == body["uuid"]:
                break
            waited = passed
            if record is None or record["released"] or self.expired(record) or passed * 1000 >= body["wait_ms"]:
                break
            self.mutex.wait(0.005)
        return int(waited * 1000)

    def renew(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.mutex:
            record = self.records.get(body["name"])
            held = record is not None and record["uuid"] == body["uuid"] and not record["released"]
            if record is None or not held or self.expired(record):
                return problem("lost")
            if record["renewals"] < body["n"]:
                record["renewals"] = body["n"]
                record["expiry"] = self.clock() + record["duration_ms"] / 1000
            return 200, {"asked": self.asked}

    def release(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.mutex:
            record = self.records.get(body["name"])
            if record is None or record["uuid"] != body["uuid"]:
                return problem("not-held")
            record["released"] = True
            self.mutex.notify_all()
            return 200, {}


def problem(code: str, **more: Any) -> tuple[int, dict[str, Any]]:
    return dlock._CODES[code], {"status": dlock._CODES[code], "title": "..", "code": code, **more}


class Handler(http.server.BaseHTTPRequestHandler):
    server: Fake
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        text = self.rfile.read(length)
        if len(text) < length:
            return  # the client has given up
        body = json.loads(text)
        what = self.path.rsplit("/", 1)[1]
        assert self.path == f"/v1/default/leases/{what}", self.path
        allowed = {
            "acquire": {"name", "uuid", "duration_ms", "prev", "owner", "wait_ms"},
            "renew": {"name", "uuid", "n"},
            "release": {"name", "uuid", "token"},
        }[what]
        assert set(body) <= allowed, body
        request = Request(what, body, self.headers["Authorization"], self.server.store.clock())
        fault = self.server.take(request)
        with contextlib.suppress(OSError):
            fault(self, request)
        self.close_connection = True

    def reply(self, status: int, body: Any, **headers: str) -> None:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


Fault = Callable[[Handler, Request], None]


class Fake(http.server.ThreadingHTTPServer):
    """A server that is honest, except where a test plans otherwise."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, clock: Callable[[], float], store: Store | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.store = store or Store(clock)
        self.requests: list[Request] = []
        self.stopped = threading.Event()
        self.planned: dict[str, list[Fault]] = {"acquire": [], "renew": [], "release": []}
        self.usual: dict[str, Fault] = dict.fromkeys(self.planned, honest)
        self.failed: list[str] = []
        self.mutex = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def plan(self, what: str, *faults: Fault) -> None:
        """The faults of the next requests of this kind, one each."""
        self.planned[what].extend(faults)

    def take(self, request: Request) -> Fault:
        with self.mutex:
            self.requests.append(request)
            planned = self.planned[request.what]
            return planned.pop(0) if planned else self.usual[request.what]

    def sent(self, what: str) -> list[Request]:
        return [request for request in self.requests if request.what == what]

    def stop(self) -> None:
        self.stopped.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):  # the client may hang up at any time
            self.failed.append(repr(error))


def honest(handler: Handler, request: Request) -> None:
    handler.reply(*handler.server.store.do(request))


def lose(handler: Handler, request: Request) -> None:
    """Done, but the connection breaks."""
    handler.server.store.do(request)


def drop(handler: Handler, request: Request) -> None:
    """Not done, and the connection breaks."""


def hang(handler: Handler, request: Request) -> None:
    """Not done, and no answer."""
    handler.server.stopped.wait(60)


def done_and_hang(handler: Handler, request: Request) -> None:
    handler.server.store.do(request)
    handler.server.stopped.wait(60)


def drip(handler: Handler, request: Request) -> None:
    """Done, and an answer of one byte at a time that never ends."""
    status, body = handler.server.store.do(request)
    handler.wfile.write(b"HTTP/1.1 %d OK\r\nContent-Length: 1000000\r\n\r\n" % status)
    while not handler.server.stopped.wait(0.01):
        handler.wfile.write(b" ")


def drip_headers(handler: Handler, request: Request) -> None:
    handler.server.store.do(request)
    while not handler.server.stopped.wait(0.01):
        handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def twice(handler: Handler, request: Request) -> None:
    handler.server.store.do(request)
    honest(handler, request)


def late(handler: Handler, request: Request) -> None:
    """Done now, and once more some time later; the reply is lost."""
    handler.server.store.do(request)
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.server.stopped.wait(random.uniform(0.0, 0.8 * D))
    handler.server.store.do(request)


def slow(handler: Handler, request: Request) -> None:
    """Done at some time, answered at some later time, perhaps too late."""
    handler.server.stopped.wait(random.uniform(0.0, 0.2 * D))
    status, body = handler.server.store.do(request)
    handler.server.stopped.wait(random.uniform(0.0, 0.6 * D))
    handler.reply(status, body)


def answer(status: int, body: Any, **headers: str) -> Fault:
    """Not done, and this answer."""
    return lambda handler, request: handler.reply(status, body, **headers)


def raw(data: bytes) -> Fault:
    def fault(handler: Handler, request: Request) -> None:
        handler.wfile.write(data)

    return fault


def after(seconds: float, then: Fault = honest) -> Fault:
    """The clock moves before the request is done."""

    def fault(handler: Handler, request: Request) -> None:
        clock = handler.server.store.clock
        assert isinstance(clock, Clock)
        clock.advance(seconds)
        then(handler, request)

    return fault


def refusal(code: str, **more: Any) -> Fault:
    return answer(*problem(code, **more))


def echo(handler: Handler, request: Request) -> None:
    """Repeats the token wherever it could be shown."""
    status, body = problem("forbidden", detail=f"your token {request.token} may not")
    handler.reply(status, body)


def echo_in_status(handler: Handler, request: Request) -> None:
    handler.wfile.write(f"HTTP/9 {request.token}\r\n\r\n".encode())


def other(holder: str = "another", seconds: float = 100.0) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid4()), "renewals": 0, "owner": holder, "since": "2026-01-01T00:00:00Z", "token": 7,
        "duration_ms": int(seconds * 1000), "released": False, "asked": False,
    }  # fmt: skip


NO_ANSWERS: dict[str, Fault] = {
    "lost": lose,
    "dropped": drop,
    "500": answer(500, b"oops"),
    "fatal": refusal("fatal"),
    "503": refusal("not-applied"),
    "overloaded": answer(*problem("overloaded"), Retry_After="1000"),
    "503 of a proxy": answer(503, b"<html>"),
    "504": refusal("unknown"),
    "401": refusal("unauthenticated"),
    "403": refusal("forbidden"),
    "400": refusal("bad-request"),
    "404": answer(404, b""),
    "429": refusal("too-many"),
    "409 for nothing": answer(409, {}),
    "409 without JSON": answer(409, b"lost"),
    "409 that another request has": refusal("not-held"),
    "409 held": refusal("held", record=other()),
    "409 of an unknown code": answer(409, {"code": "gone"}),
    "lost with another status": answer(200, b'{"code": "lost"}'),
    "lost with status 500": answer(500, {"code": "lost"}),
    "code of a strange type": answer(409, {"code": ["lost"]}),
    "a list": answer(200, []),
    "nothing": answer(200, b""),
    "garbage": answer(200, b"\xff\xfe{"),
    "asked is a text": answer(200, {"asked": "false"}),
    "success without asked": answer(200, {}),
    "deep": answer(200, b"[" * 100_000),
    "huge": answer(200, b'{"asked": false, "x": "' + b"x" * (1 << 20) + b'"}'),
    "huge number": answer(200, b'{"asked": ' + b"9" * 10_000 + b"}"),
    "cut off": raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"asked": '),
    "no length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{"),
    "bad chunks": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "no HTTP": raw(b"SSH-2.0-OpenSSH\r\n"),
    "long line": raw(b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n"),
    "many headers": raw(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 1000 + b"\r\n{}"),
    "201": answer(201, {"asked": False, "token": 1}),
    "redirect": answer(307, b"", Location="http://127.0.0.1:1/"),
}


class Case(unittest.TestCase):
    """A test with a clock that is moved by hand, and a fake server that reads it."""

    def setUp(self) -> None:
        self.seed = int(os.environ.get("DLOCK_TEST_SEED", random.randrange(1 << 30)))
        random.seed(self.seed)
        self.clock = Clock()
        self.leases: list[Lease] = []
        self.fakes: list[Fake] = []
        self.failed: list[str] = []
        for name in ("sys.unraisablehook", "threading.excepthook"):
            hook = mock.patch(name, self.fail_later)
            hook.start()
            self.addCleanup(hook.stop)
        for clock in ("dlock.now", "dlock._awake"):
            patch = mock.patch(clock, self.clock)
            patch.start()
            self.addCleanup(patch.stop)
        self.fake = self.start()
        self.server = Server(self.fake.url)
        self.addCleanup(self.end)

    def fail_later(self, args: Any) -> None:
        # Python ignores what a signal handler raises in a destructor, and so does this hook.
        if not isinstance(args.exc_value, Interrupt):
            self.failed.append(repr(args.exc_value))

    def start(self, store: Store | None = None) -> Fake:
        fake = Fake(self.clock, store)
        self.fakes.append(fake)
        self.addCleanup(fake.stop)
        return fake

    def end(self) -> None:
        """No thread of a lease outlives its test: it would read another clock."""
        for lease in self.leases:
            lease._stop.set()
        self.clock.advance(1000.0)
        eventually(lambda: not dlock._running, "threads end")
        self.assertFalse(self.failed, "no thread ends by an exception")
        for fake in self.fakes:
            self.assertFalse(fake.failed, "all requests are as the interface wants them")

    def acquire(self, **options: Any) -> Lease:
        lease = self.server.acquire("a", **{"duration": D, "wait": 0, **options})
        self.leases.append(lease)
        return lease

    @contextlib.contextmanager
    def dozing(self) -> Iterator[None]:
        """Every sleep moves the clock instead; no attempt is given up, however slow the machine is."""

        def doze(until: float, *more: Any) -> None:
            self.clock.time = max(self.clock.time, until)

        with mock.patch("dlock._sleep", doze):
            yield

    def until(self, lease: Lease) -> float:
        """When the client stops believing in its lease."""
        return lease._until


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """No attempt is given up when the clock moves, so that its reply comes late."""
    with mock.patch("dlock._wait", lambda event, *more: event.wait(20)), mock.patch("dlock._sleep"):
        yield


class Belief(Case):
    def test_belief_counts_from_sent_and_not_from_the_reply(self) -> None:
        self.fake.plan("acquire", after(0.1))
        lease = self.acquire()
        self.assertAlmostEqual(self.until(lease), 1000.0 + 0.8 * D)
        self.assertAlmostEqual(lease.remaining, 0.7 * D)

    def test_repeat_has_the_same_uuid_and_counts_from_the_first_sent(self) -> None:
        self.fake.plan("acquire", after(0.1, lose))
        with self.dozing():
            lease = self.acquire()
        first, second = self.fake.sent("acquire")
        self.assertEqual(first.body["uuid"], second.body["uuid"])
        self.assertAlmostEqual(self.until(lease), 1000.0 + 0.8 * D)
        self.assertEqual(lease.token, 1)

    def test_each_try_after_an_answer_has_a_uuid_of_its_own(self) -> None:
        self.fake.usual["acquire"] = refusal("held", record=other())
        with self.dozing(), self.assertRaises(Held):
            self.acquire(wait=3.0)
        uuids = [request.body["uuid"] for request in self.fake.sent("acquire")]
        self.assertGreater(len(uuids), 2)
        self.assertEqual(len(uuids), len(set(uuids)))
        for text in uuids:
            self.assertEqual(uuid.UUID(text).version, 4)

    def test_uuids_do_not_follow_a_seed(self) -> None:
        random.seed(1)
        first = self.acquire()
        first.release()
        random.seed(1)
        with self.dozing():
            self.acquire()
        one, two = self.fake.sent("acquire")
        self.assertNotEqual(one.body["uuid"], two.body["uuid"])

    def test_spent_is_answered_by_a_fresh_try(self) -> None:
        self.fake.plan("acquire", refusal("spent"))
        with self.dozing():
            self.acquire()
        one, two = self.fake.sent("acquire")
        self.assertNotEqual(one.body["uuid"], two.body["uuid"])

    def test_try_without_an_answer_ends_after_a_third_is_given_back_and_followed_by_a_fresh_one(self) -> None:
        self.fake.usual["acquire"] = lose
        with self.clock.running(1):
            thread = threading.Thread(target=lambda: self.acquire(wait=None))
            thread.start()
            eventually(lambda: len({r.body["uuid"] for r in self.fake.sent("acquire")}) > 1, "a fresh try")
            self.fake.usual["acquire"] = honest
            thread.join(20)
        first = self.fake.sent("acquire")[0]
        same = [r for r in self.fake.sent("acquire") if r.body["uuid"] == first.body["uuid"]]
        self.assertGreater(len(same), 1)
        # The first was to wait, for half of the duration.
        self.assertLess(same[-1].at - first.at, (1 / 2 + 1 / 3 + 0.4) * D)
        eventually(lambda: first.body["uuid"] in [r.body["uuid"] for r in self.fake.sent("release")], "is given back")
        self.assertEqual(self.fake.store.records["a"]["uuid"], self.leases[0]._term)

    def test_grant_known_too_late_is_given_back_and_not_handed_out(self) -> None:
        # Only with a wait can the answer come so late.
        self.fake.plan("acquire", after(0.85, answer(200, {"token": 5, "waited_ms": 0})))
        with patience():
            lease = self.acquire(wait=30)
        late, good = self.fake.sent("acquire")
        self.assertNotEqual(late.body["uuid"], good.body["uuid"])
        self.assertEqual(lease._term, good.body["uuid"])
        eventually(lambda: late.body["uuid"] in [r.body["uuid"] for r in self.fake.sent("release")], "is given back")

    def test_wait_counts_for_a_try_that_was_sent_once(self) -> None:
        self.fake.plan("acquire", after(0.4, answer(200, {"token": 5, "waited_ms": 400})))
        lease = self.acquire(wait=30)
        self.assertEqual(self.fake.sent("acquire")[0].body["wait_ms"], 500)
        self.assertAlmostEqual(self.until(lease), 1000.0 + 0.8 * 0.4 + 0.8 * D)

    def test_wait_does_not_count_for_a_repeated_try(self) -> None:
        self.fake.plan("acquire", after(0.4, drop), answer(200, {"token": 5, "waited_ms": 400}))
        with self.dozing():
            lease = self.acquire(wait=30)
        self.assertNotIn("wait_ms", self.fake.sent("acquire")[1].body)
        self.assertAlmostEqual(self.until(lease), 1000.0 + 0.8 * D)

    def test_lie_about_the_wait_moves_the_belief_no_further_than_the_answer(self) -> None:
        lies: list[Any] = [1 << 70, -(1 << 70), -1, True, None, "400", 0.5, [], {}, 1e300]
        for waited in lies:
            for wait in (0, 30):
                with self.subTest(waited=waited, wait=wait):
                    before = self.clock()
                    self.fake.plan("acquire", after(0.1, answer(200, {"token": 5, "waited_ms": waited})))
                    lease = self.acquire(wait=wait)
                    believed = self.until(lease) - before - 0.8 * D
                    most = 0.1 if waited == 1 << 70 and wait else 0.0
                    self.assertAlmostEqual(believed, most)
                    lease.release()

    def test_grant_without_a_possible_token_is_none(self) -> None:
        tokens: list[Any] = [None, 0, -1, True, "7", 1.5, 1 << 53, []]
        for token in tokens:
            with self.subTest(token=token):
                self.fake.plan("acquire", answer(200, {"token": token, "waited_ms": 0}))
                with self.dozing():
                    lease = self.acquire()
                self.assertNotEqual(lease.token, token)
                lease.release()

    def test_own_late_copy_keeps_nobody_out(self) -> None:
        copy: dict[str, Any] = {}

        def refuse_and_apply_later(handler: Handler, request: Request) -> None:
            handler.reply(*problem("held", record=other()))
            copy.update(request.body)
            handler.server.store.acquire({**request.body, "wait_ms": 0})

        self.fake.plan("acquire", refuse_and_apply_later)
        with self.dozing():
            lease = self.acquire(wait=30)
            self.assertTrue(lease.valid)
        self.assertLess(self.fake.sent("acquire")[-1].at, 1000.0 + 0.95 * D)
        claims = [request.body for request in self.fake.sent("acquire") if "prev" in request.body]
        self.assertEqual(claims[0]["prev"], {"uuid": copy["uuid"], "renewals": 0})
        self.assertNotIn("wait_ms", claims[0])

    def test_nobody_elses_version_is_claimed(self) -> None:
        self.fake.plan("acquire", refusal("held", record=other()), refusal("held", record={"uuid": ["x"]}))
        with self.dozing():
            self.acquire(wait=30)
        self.assertFalse([request for request in self.fake.sent("acquire") if "prev" in request.body])


class Renewals(Case):
    def renewed(self, n: int) -> None:
        """Waits until this many renewals have come, and are answered."""
        eventually(lambda: len(self.fake.sent("renew")) >= n, f"renewal {n}")

    def test_lease_lives_longer_than_its_duration_by_renewals_a_third_apart(self) -> None:
        lease = self.acquire()
        for n in range(1, 6):
            self.clock.advance(D / 3 - 0.01)
            time.sleep(0.12)
            self.assertEqual(len(self.fake.sent("renew")), n - 1, "never earlier")
            self.clock.advance(0.02)
            self.renewed(n)
            sent = self.fake.sent("renew")[-1]
            self.assertEqual(sent.body["n"], n)
            eventually(lambda: self.until(lease) == sent.at + 0.8 * D, "the success counts from its own sent")
        self.assertTrue(lease.valid)
        self.assertFalse(lease.unsure)

    def test_renewal_is_due_a_third_after_the_sent_of_the_last_and_not_after_its_answer(self) -> None:
        lease = self.acquire()
        self.fake.plan("renew", after(0.1))
        self.clock.advance(D / 3)
        eventually(lambda: self.until(lease) > 1000.0 + D, "the first counts")
        self.clock.advance(D / 3 - 0.1 + 0.001)
        self.renewed(2)

    def test_hung_renewal_is_given_up_after_a_sixth_and_the_next_has_the_next_number(self) -> None:
        for fault in (hang, done_and_hang, drip, drip_headers):
            with self.subTest(fault=fault.__name__):
                before = len(self.fake.sent("renew"))
                lease = self.acquire()
                self.fake.plan("renew", fault)
                self.clock.advance(D / 3)
                self.renewed(before + 1)
                first = self.fake.sent("renew")[-1]
                self.clock.advance(D / 6 - 0.01)
                time.sleep(0.15)
                self.assertEqual(len(self.fake.sent("renew")), before + 1, "not given up before")
                self.clock.advance(0.011)
                with self.clock.running(0.1):
                    self.renewed(before + 2)
                second = self.fake.sent("renew")[-1]
                self.assertEqual(second.body["n"], first.body["n"] + 1)
                # It was sent a little before it arrived, and long after the first.
                eventually(lambda: -0.1 < self.until(lease) - second.at - 0.8 * D <= 0.0, "the second counts")
                lease.release()
                self.fake.store.records.clear()

    def test_requests_given_up_leave_no_threads(self) -> None:
        self.fake.usual["renew"] = drip
        lease = self.acquire()
        self.clock.advance(D / 3)
        self.renewed(1)
        self.clock.advance(D)
        self.assertTrue(lease.lost.wait(20))
        eventually(lambda: not threads("request"), "they end")

    def test_success_counts_for_the_attempt_that_it_answers(self) -> None:
        lease = self.acquire(renew=False)
        arrived, go = threading.Event(), threading.Event()

        def wait(handler: Handler, request: Request) -> None:
            arrived.set()
            go.wait(20)
            honest(handler, request)

        self.fake.plan("renew", wait, drop)
        first = threading.Thread(target=lease.renew)
        first.start()
        self.assertTrue(arrived.wait(20))
        self.clock.advance(0.1)
        self.assertFalse(lease.renew())
        go.set()
        first.join(20)
        self.assertAlmostEqual(self.until(lease), 1000.0 + 0.8 * D)
        self.assertEqual(sorted(r.body["n"] for r in self.fake.sent("renew")), [1, 2])

    def test_older_success_moves_nothing_back(self) -> None:
        lease = self.acquire(renew=False)
        arrived, go = threading.Event(), threading.Event()

        def wait(handler: Handler, request: Request) -> None:
            arrived.set()
            go.wait(20)
            honest(handler, request)

        self.fake.plan("renew", wait)
        first = threading.Thread(target=lease.renew)
        first.start()
        self.assertTrue(arrived.wait(20))
        self.clock.advance(0.1)
        self.assertTrue(lease.renew())
        go.set()
        first.join(20)
        self.assertAlmostEqual(self.until(lease), 1000.1 + 0.8 * D)

    def test_success_at_the_deadline_is_none(self) -> None:
        lease = self.acquire(renew=False)
        self.clock.advance(0.75)
        self.fake.plan("renew", after(0.05))
        with patience(), self.assertRaises(Lost):
            lease.renew()
        self.assertFalse(lease.valid)
        self.assertTrue(lease.lost.is_set())

    def test_no_other_answer_than_lost_is_loss_and_none_delays_the_deadline(self) -> None:
        for name, fault in NO_ANSWERS.items():
            with self.subTest(name):
                lease = self.acquire(renew=False)
                until = self.until(lease)
                self.fake.plan("renew", fault)
                self.assertFalse(lease.renew())
                self.assertTrue(lease.valid)
                self.assertFalse(lease.lost.is_set())
                self.assertEqual(self.until(lease), until)
                self.clock.advance(0.8 * D)
                self.assertFalse(lease.valid)
                lease.release()

    def test_renewals_go_on_through_errors_until_one_succeeds(self) -> None:
        lease = self.acquire()
        self.fake.plan("renew", *[NO_ANSWERS[name] for name in ("401", "overloaded", "garbage", "504")])
        self.clock.advance(D / 3)
        self.renewed(1)
        with self.clock.running(0.1):
            self.renewed(5)
            eventually(lambda: self.until(lease) > 1000.0 + D, "the fifth counts")
        self.assertTrue(lease.valid)
        self.assertEqual([r.body["n"] for r in self.fake.sent("renew")][:5], [1, 2, 3, 4, 5])

    def test_lost_is_loss_at_once(self) -> None:
        told = threading.Event()
        lease = self.acquire(on_lost=told.set)
        self.fake.store.records["a"] = {**other(), "expiry": 2000.0}
        self.clock.advance(D / 3)
        self.assertTrue(lease.lost.wait(20))
        self.assertTrue(told.wait(20))
        self.assertLess(self.clock(), self.until(lease))
        with self.assertRaises(Lost):
            lease.check()

    def test_loss_is_told_once_though_two_renewals_learn_it(self) -> None:
        told: list[bool] = []
        lease = self.acquire(renew=False, on_lost=lambda: told.append(True))
        both = threading.Barrier(2, timeout=20)

        def lost(handler: Handler, request: Request) -> None:
            both.wait()
            handler.reply(*problem("lost"))

        def renew() -> None:
            with contextlib.suppress(Lost):
                lease.renew()

        self.fake.plan("renew", lost, lost)
        threads = [threading.Thread(target=renew) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        eventually(lambda: told, "the callback")
        eventually(lambda: not any(t.name == "dlock on_lost" for t in threading.enumerate()), "it ends")
        self.assertEqual(told, [True])

    def test_loss_is_told_at_the_deadline_while_the_server_is_silent(self) -> None:
        for fault in (hang, done_and_hang, drip, drip_headers):
            with self.subTest(fault=fault.__name__):
                told: list[bool] = []
                before = len(self.fake.sent("renew"))
                lease = self.acquire(on_lost=lambda: told.append(True))
                self.fake.usual["renew"] = fault
                self.clock.advance(D / 3)
                self.renewed(before + 1)
                self.clock.advance(0.8 * D - D / 3 - 0.001)
                time.sleep(0.15)
                self.assertFalse(lease.lost.is_set())
                self.clock.advance(0.002)
                self.assertTrue(lease.lost.wait(20))
                eventually(lambda: told, "the callback")
                self.clock.advance(10)
                time.sleep(0.02)
                self.assertEqual(told, [True])
                self.fake.usual["renew"] = honest
                lease.release()

    def test_loss_is_told_while_a_name_server_hangs(self) -> None:
        lease = self.acquire()
        go = threading.Event()
        self.addCleanup(go.set)
        with mock.patch("socket.getaddrinfo", side_effect=lambda *args, **more: go.wait(60) and []) as lookup:
            self.clock.advance(D / 3)
            eventually(lambda: lookup.called, "a look-up")
            self.clock.advance(0.5 * D)
            self.assertTrue(lease.lost.wait(20))
            go.set()

    def test_loss_is_told_though_no_thread_can_be_started(self) -> None:
        lease = self.acquire()
        with mock.patch("_thread.start_new_thread", side_effect=RuntimeError("can't start new thread")):
            self.clock.advance(D / 3)
            time.sleep(0.15)
            self.assertTrue(lease.valid)
            self.clock.advance(0.5 * D)
            self.assertTrue(lease.lost.wait(20))

    def test_loss_names_its_cause_and_how_long_it_lasted(self) -> None:
        causes: dict[str, Fault] = {
            r"for 24\.\d s: overloaded \(503\)": refusal("overloaded"),
            r"for 24\.\d s: unauthenticated \(401\): 'who'": refusal("unauthenticated", detail="who"),
            r"for 24\.\d s: status 200, and not the answer of a dlock server": answer(200, []),
            r"for 24\.\d s: .*makes no sense": answer(200, {}),
        }
        for cause, fault in causes.items():
            with self.subTest(cause):
                lease = self.acquire(renew=False, duration=30.0)
                self.fake.plan("renew", fault)
                self.assertFalse(lease.renew())
                self.clock.advance(24.0)
                with self.assertRaisesRegex(Lost, cause):
                    lease.check()
                lease.release()
        lease = self.acquire(renew=False, duration=30.0)
        self.fake.plan("renew", refusal("overloaded"))
        self.assertFalse(lease.renew())
        self.assertTrue(lease.renew())
        self.clock.advance(24.0)
        with self.assertRaisesRegex(Lost, "its time has passed without a renewal$"):
            lease.check()
        lease.release()

    def test_loss_names_a_server_that_is_gone(self) -> None:
        with socket.socket() as gone, self.assertRaisesRegex(Lost, r"for 480\.0 s: .*refused"):
            gone.bind(("127.0.0.1", 0))
            with self.server.lock("a", duration=LONG) as lease:
                self.leases.append(lease)
                url = self.server._urls[0]._replace(netloc=f"127.0.0.1:{gone.getsockname()[1]}")
                self.server._urls = [url]
                self.clock.advance(LONG / 3)
                eventually(lambda: lease._failure, "a renewal")
                self.clock.advance(0.8 * LONG - LONG / 3)
                self.assertTrue(lease.lost.wait(20))
                self.server._urls = [dlock._checked(self.fake.url)]

    def test_loss_that_the_server_tells_is_another(self) -> None:
        lease = self.acquire(renew=False)
        self.fake.plan("renew", refusal("lost"))
        with self.assertRaisesRegex(Lost, "the server says"):
            lease.renew()

    def test_suspended_machine_wakes_up_without_its_lease(self) -> None:
        lease = self.acquire(duration=60.0)
        self.clock.advance(48.0)
        self.assertFalse(lease.valid, "no flag decides, nor a timer")
        self.assertEqual(lease.remaining, 0.0)
        self.assertTrue(lease.lost.is_set())

    def test_what_was_invalid_once_stays_so(self) -> None:
        lease = self.acquire()
        self.clock.advance(0.8 * D)
        self.assertFalse(lease.valid)
        self.clock.advance(-0.5 * D)
        self.assertFalse(lease.valid)
        with self.assertRaises(Lost):
            lease.renew()

    def test_unsure_when_renewals_do_not_succeed(self) -> None:
        lease = self.acquire(renew=False)
        self.clock.advance(D / 2 - 0.01)
        self.assertFalse(lease.unsure)
        self.clock.advance(0.02)
        self.assertTrue(lease.unsure)
        self.assertTrue(lease.renew())
        self.assertFalse(lease.unsure)
        self.fake.plan("renew", refusal("fatal"))
        self.assertFalse(lease.renew())
        self.assertTrue(lease.unsure)
        self.assertTrue(lease.valid)

    def test_holder_learns_that_it_is_asked(self) -> None:
        lease = self.acquire()
        self.assertFalse(lease.asked)
        self.fake.store.asked = True
        self.clock.advance(D / 3)
        eventually(lambda: lease.asked, "asked")
        self.assertTrue(lease.valid)


class Endings(Case):
    def test_release_comes_after_the_work_and_the_lease_is_invalid_by_then(self) -> None:
        seen: list[tuple[bool, bool]] = []
        ended = threading.Event()

        def look(handler: Handler, request: Request) -> None:
            seen.append((ended.is_set(), self.leases[0].valid))
            honest(handler, request)

        self.fake.plan("release", look)
        with self.server.lock("a", duration=D) as lease:
            self.leases.append(lease)
            self.assertTrue(lease.valid)
            ended.set()
        self.assertEqual(seen, [(True, False)])
        self.assertFalse(lease.lost.is_set())
        self.assertTrue(self.fake.store.records["a"]["released"])
        with self.assertRaises(Lost):
            lease.check()

    def test_no_renewal_follows_the_release(self) -> None:
        lease = self.acquire()
        self.assertIs(lease.release(), True)
        self.clock.advance(D / 3)
        time.sleep(0.2)
        self.assertFalse(self.fake.sent("renew"))
        self.assertIsNone(lease.release())

    def test_release_is_repeated_until_it_is_answered(self) -> None:
        lease = self.acquire()
        self.fake.plan("release", drop, refusal("unknown"), refusal("not-applied"), answer(200, b"?"), lose)
        with self.dozing():
            self.assertIs(lease.release(), True)
        self.assertEqual(len(self.fake.sent("release")), 6)

    def test_release_without_an_answer_ends_when_the_lease_has_ended_anyway(self) -> None:
        lease = self.acquire()
        self.clock.advance(D / 3)
        renewal = eventually(lambda: self.fake.sent("renew"), "a renewal")[0]
        eventually(lambda: self.until(lease) > 1000.0 + 0.9 * D, "it counts")
        self.fake.usual["release"] = drop
        with self.dozing():
            self.assertIsNone(lease.release())
        last = self.fake.sent("release")[-1]
        self.assertGreater(last.at, renewal.at + 0.8 * D)
        self.assertLess(last.at, renewal.at + 1.1 * D)

    def test_not_held_after_a_repeat_is_no_loss(self) -> None:
        self.fake.plan("release", drop, refusal("not-held"))
        with self.dozing(), self.server.lock("a", duration=D) as lease:
            self.leases.append(lease)

    def test_not_held_to_the_only_release_is_loss(self) -> None:
        self.fake.plan("release", refusal("not-held"))
        with self.assertRaises(Lost) as caught, self.server.lock("a", duration=D) as lease:
            self.leases.append(lease)
        self.assertTrue(caught.exception.work_finished)

    def test_work_that_ends_after_its_lease_is_lost(self) -> None:
        with self.assertRaises(Lost) as caught, self.server.lock("a", duration=D) as lease:
            self.leases.append(lease)
            self.clock.advance(0.8 * D)
        self.assertTrue(caught.exception.work_finished)
        self.assertTrue(self.fake.store.records["a"]["released"], "the next one need not wait for the expiry")

    def test_exception_of_the_work_is_not_masked(self) -> None:
        self.fake.usual["release"] = refusal("fatal")
        with self.assertRaises(ZeroDivisionError), self.server.lock("a", duration=D) as lease:
            self.leases.append(lease)
            self.clock.advance(0.8 * D)
            _ = 1 // 0

    def test_interrupted_acquire_gives_back_what_it_may_have_got(self) -> None:
        self.fake.plan("acquire", done_and_hang)
        wait = dlock._wait

        def interrupt(*arguments: Any) -> None:
            if threading.current_thread() is threading.main_thread():
                eventually(lambda: self.fake.store.records, "it is applied")
                raise KeyboardInterrupt
            wait(*arguments)

        with mock.patch("dlock._wait", interrupt), self.assertRaises(KeyboardInterrupt):
            self.acquire()
        eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    @unittest.skipUnless(hasattr(os, "fork"), "forks need an operating system that has them")
    def test_forked_child_has_no_lease_and_gives_none_back(self) -> None:
        with self.server.lock("a", duration=D) as lease, warnings.catch_warnings():
            self.leases.append(lease)
            warnings.simplefilter("ignore", DeprecationWarning)
            # The worst case: another thread has the mutex at the fork.
            held, go = threading.Event(), threading.Event()

            def hold() -> None:
                with lease._mutex:
                    held.set()
                    go.wait(20)

            thread = threading.Thread(target=hold)
            thread.start()
            held.wait(20)
            child = os.fork()
            if child == 0:
                result = 1
                try:
                    assert not lease.valid and lease.remaining == 0 and lease.lost.wait(0)
                    try:
                        with lease:
                            pass
                    except Lost:
                        result = 0
                finally:
                    os._exit(result)
            ended: list[tuple[int, int]] = []

            def look() -> bool:
                ended.append(os.waitpid(child, os.WNOHANG))
                return ended[-1] != (0, 0)

            try:
                eventually(look, "the child ends")
            finally:
                go.set()
                thread.join()
                if ended[-1] == (0, 0):
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
            self.assertEqual(ended[-1], (child, 0), "what the child asserts is so")
            self.assertFalse(self.fake.sent("release"))
            self.assertTrue(lease.valid)


class Alarm:
    """A timer whose signal raises in the main thread."""

    def __init__(self) -> None:
        self.armed = False

    def __enter__(self) -> Alarm:
        self.previous = signal.signal(signal.SIGALRM, self.ring)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGALRM, self.previous)

    def ring(self, *_: object) -> None:
        # Python may run it much later than the signal came.
        if self.armed:
            self.armed = False
            raise Interrupt

    def interrupts(self, work: Callable[[], object], seconds: float) -> bool:
        """Whether the signal, which comes after this many seconds, has ended the work."""
        try:
            try:
                self.armed = True
                signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
                work()
            finally:
                self.armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupt:
            return True
        return False


def interrupt_often(times: int, work: Callable[[int], object]) -> int:
    """Runs it with one number after the other until this many runs were interrupted, at all kinds of moments; returns
    the number of runs."""
    begun = time.monotonic()
    work(0)
    longest = time.monotonic() - begun
    hits = 0
    with Alarm() as alarm:
        for i in itertools.count(1):
            begun = time.monotonic()
            hits += alarm.interrupts(lambda: work(i), random.uniform(0.0, longest))
            if hits == times:
                return i
            # It adapts to a machine that becomes busy, or idle again.
            longest = 0.9 * longest + 0.2 * (time.monotonic() - begun)
    raise AssertionError


@unittest.skipUnless(hasattr(signal, "setitimer"), "only Unix has this timer")
class Interruptions(Case):
    """A signal handler raises. The clock stands still, so no lease ends because its time has passed."""

    def use(self, i: int) -> None:
        with self.server.try_lock(str(i), duration=LONG):
            pass

    def expect_nothing_left(self) -> None:
        eventually(lambda: not threads("lease"), "no renewals", 60)
        eventually(lambda: not threads("request"), "no requests", 60)
        # A release can overtake the acquire that was given up, and leaves a lease that is not renewed. A signal between the
        # return of the acquire and the caller's next step leaves one for which no release is sent; that is rare.
        records = self.fake.store.records
        kept = [name for name in records if not records[name]["released"]]
        asked = {request.body["uuid"] for request in self.fake.sent("release")}
        unasked = [name for name in kept if records[name]["uuid"] not in asked]
        self.assertLess(len(unasked), 0.02 * len(records) + 3, f"seed {self.seed}")
        self.clock.advance(2 * LONG)
        self.assertFalse([name for name in kept if not self.fake.store.expired(records[name])])
        self.assertFalse(self.fake.sent("renew"))

    def test_signal_handler_that_raises_leaves_no_lease(self) -> None:
        interrupt_often(400, self.use)
        self.expect_nothing_left()

    def test_signal_handler_that_raises_leaves_no_lease_that_was_acquired_by_hand(self) -> None:
        def use(i: int) -> None:
            lease = self.server.acquire(str(i), duration=LONG, wait=0)
            lease.check()

        interrupt_often(200, use)
        self.expect_nothing_left()

    def test_exception_of_a_signal_handler_that_is_kept_keeps_no_lease(self) -> None:
        kept: list[BaseException] = []

        def use(i: int) -> None:
            try:
                self.use(i)
            except Interrupt as error:
                kept.append(error)
                raise

        interrupt_often(400, use)
        self.expect_nothing_left()
        self.assertGreater(len(kept), 100)

    def interrupt_everywhere(self, use: Callable[[int], object], within: tuple[str, ...] = ()) -> int:
        """Uses a lock until that is not interrupted; returns how many tries it took. Keeps the exceptions.

        Python runs signal handlers at the beginning of its functions and after calls of others: there a profiler can
        raise, too. `within`: only in these functions.
        """
        self.kept: list[BaseException] = []
        for i in itertools.count(1):
            seen = 0

            def profile(frame: types.FrameType, event: str, argument: object) -> None:
                nonlocal seen
                if event in ("call", "c_return") and (not within or frame.f_code.co_name in within):
                    seen += 1
                    if seen == i:
                        raise Interrupt

            try:
                sys.setprofile(profile)
                use(i)
            except Interrupt as error:
                self.kept.append(error)
            finally:
                sys.setprofile(None)
            if seen < i:
                break
        return i

    def test_exception_wherever_python_runs_a_signal_handler_leaves_no_lease(self) -> None:
        self.assertGreater(self.interrupt_everywhere(self.use), 100)
        self.expect_nothing_left()

    def test_exception_at_the_end_of_a_with_statement_leaves_no_lease_that_was_acquired_by_hand(self) -> None:
        def use(i: int) -> None:
            lease = self.server.acquire(str(i), duration=LONG, wait=0)
            self.assertTrue(hasattr(lease, "__exit__"))
            with lease:
                self.assertTrue(lease.valid)

        self.assertGreater(self.interrupt_everywhere(use, ("__exit__", "release")), 5)
        self.expect_nothing_left()

    def test_exception_at_the_end_of_an_async_with_statement_leaves_no_lease(self) -> None:
        async def use(i: int) -> None:
            async with self.server.try_lock(str(i), duration=LONG) as lease:
                self.assertTrue(lease.valid)

        with contextlib.closing(asyncio.new_event_loop()) as loop:
            # Not in the functions of the event loop, which have to survive.
            within = ("__aexit__", "_leave", "_abandon")
            self.assertGreater(self.interrupt_everywhere(lambda i: loop.run_until_complete(use(i)), within), 2)
            self.expect_nothing_left()

    def test_lease_that_is_forgotten_is_given_back(self) -> None:
        lease = self.server.acquire("a", duration=LONG, wait=0)
        self.assertTrue(lease.valid)
        del lease
        gc.collect()
        eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    def test_lease_of_a_with_statement_needs_no_name(self) -> None:
        with self.server.lock("a", duration=LONG):
            gc.collect()
            self.clock.advance(LONG / 3)
            eventually(lambda: self.fake.sent("renew"), "a renewal")
            self.assertFalse(self.fake.sent("release"))

    def test_lock_works_in_an_exit_stack(self) -> None:
        with contextlib.ExitStack() as stack:
            lease = stack.enter_context(self.server.lock("a", duration=LONG))
            gc.collect()
            self.clock.advance(LONG / 3)
            eventually(lambda: self.fake.sent("renew"), "a renewal")
            self.assertTrue(lease.valid)
        self.assertTrue(self.fake.store.records["a"]["released"])
        self.assertEqual(len(self.fake.sent("release")), 1)

    def test_lock_is_for_one_with_statement(self) -> None:
        lock = self.server.lock("a", duration=LONG)
        with lock:
            pass
        with self.assertRaises(RuntimeError), lock:
            self.fail("a second time")
        self.assertEqual(len(self.fake.sent("acquire")), 1)


class Coroutines(Case):
    def test_coroutines_of_one_process_take_turns(self) -> None:
        inside: list[int] = []
        most: list[int] = []

        async def work(i: int) -> int:
            async with self.server.lock("a", duration=60.0) as lease:
                inside.append(i)
                most.append(len(inside))
                await asyncio.sleep(0.001)
                inside.remove(i)
                return lease.token

        async def main() -> list[int]:
            # The event loop has fewer threads than there are coroutines that wait.
            asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
            return await asyncio.wait_for(asyncio.gather(*map(work, range(20))), 120)

        self.assertEqual(sorted(asyncio.run(main())), list(range(1, 21)))
        self.assertEqual(set(most), {1})

    def test_waiting_in_an_event_loop_is_refused_and_the_error_says_what_to_use(self) -> None:
        async def main() -> None:
            for wait in (
                lambda: self.server.lock("a").__enter__(),
                lambda: self.server.try_lock("a").__enter__(),
                lambda: self.server.acquire("a"),
            ):
                with self.assertRaisesRegex(RuntimeError, "async with server.lock"):
                    wait()
            async with self.server.lock("a", duration=LONG):
                with self.assertRaisesRegex(RuntimeError, "async with server.lock"):
                    with self.server.lock("a", duration=LONG):
                        self.fail("waits for what this coroutine has")
            (await asyncio.to_thread(self.server.acquire, "a", duration=LONG)).release()

        asyncio.run(main())
        self.assertEqual(len(self.fake.sent("acquire")), 2)

    def test_refusals_and_losses_are_raised(self) -> None:
        async def main() -> None:
            async with self.server.lock("a", duration=LONG):
                with self.assertRaises(Held):
                    async with self.server.try_lock("a", duration=LONG):
                        self.fail("both have it")
            with self.assertRaises(Lost) as caught:
                async with self.server.lock("a", duration=LONG):
                    self.clock.advance(0.8 * LONG)
            self.assertTrue(caught.exception.work_finished)
            with self.assertRaises(ZeroDivisionError):
                async with self.server.lock("a", duration=LONG):
                    _ = 1 // 0
            self.fake.plan("acquire", refusal("forbidden"))
            with self.assertRaises(Refused):
                async with self.server.lock("a", duration=LONG):
                    self.fail("none was granted")

        asyncio.run(main())
        self.assertTrue(self.fake.store.records["a"]["released"])

    def test_loss_can_cancel_the_work(self) -> None:
        async def main() -> None:
            loop = asyncio.get_running_loop()
            task = asyncio.current_task()
            assert task is not None
            stop = lambda: loop.call_soon_threadsafe(task.cancel)
            with self.assertRaises(asyncio.CancelledError):
                async with self.server.lock("a", duration=LONG, on_lost=stop):
                    self.clock.advance(0.8 * LONG)
                    await asyncio.sleep(60)

        asyncio.run(main())

    def test_cancelled_wait_ends_at_once_and_leaves_nothing(self) -> None:
        self.acquire(renew=False, duration=1000.0)

        async def wait() -> None:
            async with self.server.lock("a", duration=LONG):
                self.fail("both have it")

        async def main() -> None:
            task = asyncio.ensure_future(wait())
            while len(self.fake.sent("acquire")) < 2:
                await asyncio.sleep(0.001)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        eventually(lambda: not threads("wait") and not threads("request"), "no thread waits")
        waited = self.fake.sent("acquire")[1].body["uuid"]
        eventually(lambda: waited in [r.body["uuid"] for r in self.fake.sent("release")], "is given back")

    def test_acquire_that_is_cancelled_when_it_may_have_been_granted_gives_back(self) -> None:
        for fault in (done_and_hang, lose, drip):
            with self.subTest(fault=fault.__name__):
                self.fake.store.records.clear()
                self.fake.plan("acquire", fault)

                async def main() -> None:
                    task = asyncio.ensure_future(self.server.lock("a", duration=LONG).__aenter__())
                    while not self.fake.store.records:
                        await asyncio.sleep(0.001)
                    task.cancel()
                    await asyncio.wait([task])

                asyncio.run(main())
                eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    def test_acquire_that_is_cancelled_after_its_grant_gives_back_although_its_lock_exists(self) -> None:
        lock = self.server.lock("a", duration=LONG)

        async def main() -> None:
            task = asyncio.ensure_future(lock.__aenter__())
            await asyncio.sleep(0)
            # The event loop stands still meanwhile.
            eventually(lambda: lock._lease is not None and not threads("wait"), "a grant")
            task.cancel()
            await asyncio.wait([task])
            self.assertTrue(task.cancelled())

        asyncio.run(main())
        eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    def test_cancelled_release_releases(self) -> None:
        arrived, go = threading.Event(), threading.Event()
        self.addCleanup(go.set)

        def wait(handler: Handler, request: Request) -> None:
            arrived.set()
            go.wait(20)
            honest(handler, request)

        async def work() -> None:
            async with self.server.lock("a", duration=LONG):
                pass

        async def main() -> None:
            self.fake.plan("release", wait)
            task = asyncio.ensure_future(work())
            while not arrived.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertFalse(self.fake.store.records["a"]["released"])
            go.set()

        asyncio.run(main())
        eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    def test_coroutines_that_are_cancelled_at_any_moment_leave_nothing(self) -> None:
        async def work(name: str) -> None:
            async with self.server.lock(name, duration=LONG):
                await asyncio.sleep(0.002)

        async def main() -> None:
            begun = time.monotonic()
            await work("first")
            longest = time.monotonic() - begun
            for i in range(200):
                task = asyncio.ensure_future(work(str(i)))
                await asyncio.sleep(random.uniform(0.0, longest))
                task.cancel()
                await asyncio.wait([task])

        asyncio.run(main())
        eventually(lambda: not threads("wait"), "no thread waits")
        Interruptions.expect_nothing_left(self)  # type: ignore[arg-type]

    def test_coroutine_that_is_thrown_away_gives_back(self) -> None:
        async def work() -> None:
            async with self.server.lock("a", duration=LONG):
                await asyncio.sleep(60)

        async def main() -> None:
            coroutine = work()
            task = asyncio.ensure_future(coroutine)
            while not threads("lease"):
                await asyncio.sleep(0.001)
            tasks.append(task)

        tasks: list[asyncio.Task[None]] = []
        with mock.patch("sys.unraisablehook", lambda _: None):
            loop = asyncio.new_event_loop()
            loop.run_until_complete(main())
            loop.set_exception_handler(lambda *_: None)  # the message that a task was destroyed
            loop.close()
            tasks.clear()
            gc.collect()
        eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    def test_those_who_wait_keep_nobody_from_a_renewal(self) -> None:
        lease = self.acquire(renew=False, duration=1000.0)
        with mock.patch("dlock._MOST_ATTEMPTS", 3):
            waiters = [threading.Thread(target=self.server.acquire, args=("a",)) for _ in range(3)]
            for waiter in waiters:
                waiter.start()
            eventually(lambda: len(self.fake.sent("acquire")) == 4, "three wait")
            with self.dozing(), self.assertRaisesRegex(Unreachable, "3 requests"):
                self.server.acquire("b", duration=0.1, wait=0)  # the clock hardly moves
            self.assertTrue(lease.renew())
            self.assertIs(lease.release(), True)
            for waiter in waiters:
                waiter.join(20)
                self.assertFalse(waiter.is_alive())


class Refusals(Case):
    def test_try_lock_of_what_is_held_shows_the_record(self) -> None:
        self.acquire(owner="first")
        with self.assertRaises(Held) as caught, self.server.try_lock("a", duration=D):
            self.fail("both have it")
        self.assertEqual(caught.exception.record["owner"], "first")
        self.assertIn("first", str(caught.exception))
        self.assertEqual(self.clock(), 1000.0)
        self.assertEqual(len(self.fake.sent("acquire")), 2)
        self.assertNotIn("wait_ms", self.fake.sent("acquire")[1].body)

    def test_wait_is_a_total(self) -> None:
        self.acquire(renew=False, duration=1000.0)
        for fault in (honest, hang, NO_ANSWERS["overloaded"]):
            with self.subTest(fault=fault):
                self.fake.usual["acquire"] = fault
                before = self.clock()
                # An attempt alone may take 10 s of such a lease.
                with self.clock.running(2), self.assertRaises((Held, Unreachable)):
                    self.acquire(wait=1.5, duration=60.0)
                self.assertGreaterEqual(self.clock() - before, 1.4)
                self.assertLess(self.clock() - before, 9.0)

    def test_refusals_end_an_acquire_at_once(self) -> None:
        for code in ("bad-request", "unauthenticated", "forbidden", "too-large", "misdirected", "fatal"):
            with self.subTest(code), self.assertRaises(Refused) as caught:
                self.fake.plan("acquire", refusal(code, detail="this and that"))
                self.acquire(wait=30)
            self.assertIn(code, str(caught.exception))
            self.assertIn("this and that", str(caught.exception))
        self.assertFalse(self.fake.sent("release"), "nothing was done")

    def test_grant_that_is_answered_by_what_no_acquire_can_have_is_given_back(self) -> None:
        def lie(handler: Handler, request: Request) -> None:
            handler.server.store.do(request)
            handler.reply(*problem("lost"))

        self.fake.usual["acquire"] = lie
        with self.dozing(), self.assertRaises(Unreachable):
            self.acquire()
        eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    def test_refusal_after_a_lost_reply_gives_back(self) -> None:
        self.fake.plan("acquire", lose, refusal("fatal"))
        with self.dozing(), self.assertRaises(Refused):
            self.acquire(wait=30)
        eventually(lambda: self.fake.store.records["a"]["released"], "is given back")

    def test_no_answer_at_all_is_unreachable(self) -> None:
        for name, fault in NO_ANSWERS.items():
            if name in ("fatal", "401", "403", "400", "404", "409 held", "redirect"):
                continue
            with self.subTest(name), self.dozing(), self.assertRaises(Unreachable):
                self.fake.usual["acquire"] = fault
                self.acquire()
            self.fake.usual["acquire"] = honest
            eventually(lambda: not threads("request"), "ends")
            self.fake.store.records.clear()

    def test_waiting_for_ever_ends_when_nobody_answers_for_ten_seconds(self) -> None:
        self.fake.usual["acquire"] = refusal("not-applied")
        with self.dozing(), self.assertRaises(Unreachable):
            self.acquire(wait=None)
        self.assertGreater(self.clock() - 1000.0, 10.0)
        self.assertFalse(self.fake.sent("release"), "certainly nothing was done")

    def test_server_that_answers_at_once_is_not_asked_without_end(self) -> None:
        pauses = {"held": D / 10, "spent": D / 10, "not-applied": D / 60}
        for code, pause in pauses.items():
            before = len(self.fake.sent("acquire"))
            with self.dozing(), self.assertRaises((Held, Unreachable)):
                self.fake.usual["acquire"] = refusal(code, record=other())
                self.acquire(wait=2.0)
            self.assertLessEqual(len(self.fake.sent("acquire")) - before, 2.0 / (0.9 * pause) + 2, code)

    def test_wrong_arguments_are_told_before_anything_is_sent(self) -> None:
        for options in ({"duration": 0.09}, {"duration": 86_401.0}, {"duration": float("nan")}, {"wait": -1.0}):
            with self.subTest(options), self.assertRaises(ValueError):
                self.acquire(**options)
        # JSON would make the same name of the second and of the character that it stands for.
        for name in ("\udcff", "\ud83d\ude00"):
            with self.subTest(repr(name)), self.assertRaisesRegex(ValueError, "surrogates"):
                self.server.acquire(name, wait=0)
        with self.assertRaises(TypeError):
            self.server.acquire(b"a", wait=0)  # type: ignore[arg-type]
        strange = ["ftp://a", "http://", "http://a:b", "http://user:pw@a", "http://a/?b", "localhost:7420"]
        urls: list[Any] = ["", [], *strange]
        for url in urls:
            with self.subTest(url), self.assertRaises(ValueError) as caught:
                Server(url)
            self.assertNotIn("pw", str(caught.exception))
        for namespace in ("", "A", "a/b", "a" * 64, "a\n"):
            with self.subTest(namespace), self.assertRaises(ValueError):
                Server("http://a", namespace=namespace)
        self.assertFalse(self.fake.requests)


class Waiting(Case):
    def test_waiter_gets_the_lease_when_it_is_given_back(self) -> None:
        first = self.acquire(renew=False, duration=100.0)
        got: list[Lease] = []
        second = threading.Thread(target=lambda: got.append(self.acquire(wait=None, duration=10.0)))
        second.start()
        eventually(lambda: len(self.fake.sent("acquire")) == 2, "a waiter")
        self.clock.advance(0.5)
        self.assertFalse(got)
        first.release()
        second.join(20)
        self.assertGreater(got[0].token, first.token)
        self.assertEqual(len(self.fake.sent("acquire")), 2, "the server waited, not the client")

    def test_wait_is_never_so_long_that_its_grant_could_not_be_used(self) -> None:
        for duration, wait, expected in ((1.0, None, 500), (1000.0, None, 25_000), (10.0, 2.0, 1000)):
            self.acquire(duration=duration, wait=wait).release()
            self.assertEqual(self.fake.sent("acquire")[-1].body["wait_ms"], expected)

    def test_attempt_that_waits_may_take_so_much_longer(self) -> None:
        def grant(handler: Handler, request: Request) -> None:
            time.sleep(0.25)  # the client reads its clock meanwhile
            handler.reply(200, {"token": 5, "waited_ms": 500})

        self.fake.plan("acquire", after(0.6, grant))
        with self.dozing():
            self.acquire(wait=30)
        self.assertEqual(len(self.fake.sent("acquire")), 1)

    def test_waiter_gets_what_a_dead_holder_leaves_when_it_has_expired_and_not_before(self) -> None:
        self.acquire(renew=False)
        with self.clock.running(2):
            second = self.acquire(wait=None)
            self.assertGreaterEqual(second._renewed, 1000.0)
        self.assertGreaterEqual(self.clock(), 1000.0 + D)
        self.assertEqual(second.token, 2)

    def test_dead_holder_is_found_out_where_no_clock_of_the_store_does_it(self) -> None:
        self.fake.store.observed = True
        self.acquire(renew=False, duration=2 * D)
        with self.clock.running(2):
            lease = self.acquire(wait=10.0)
        claim = self.fake.sent("acquire")[-1]
        self.assertEqual(lease.token, 2)
        self.assertGreaterEqual(claim.at, 1000.0 + 2 * D, "its duration, not ours")
        self.assertNotIn("wait_ms", claim.body)

    def test_observation_counts_from_the_reply_that_showed_the_version_and_lasts_beyond_one_call(self) -> None:
        self.fake.store.observed = True
        self.acquire(renew=False)
        self.fake.plan("acquire", after(0.1))
        for passed in (0.0, 0.999, 0.002):
            self.clock.advance(passed * D)
            self.assertFalse([r for r in self.fake.sent("acquire") if "prev" in r.body])
            if passed == 0.002:
                break
            with self.dozing(), self.assertRaises(Held):
                self.acquire()
        with self.dozing():
            self.assertEqual(self.acquire().token, 2)

    def test_holder_that_renews_is_alive_where_no_clock_of_the_store_decides(self) -> None:
        self.fake.store.observed = True
        holder = self.acquire(renew=False)
        for _ in range(6):
            self.assertTrue(holder.renew())
            with self.dozing(), self.assertRaises(Held):
                self.acquire()
            self.clock.advance(0.7 * D)
        self.assertFalse([r for r in self.fake.sent("acquire") if "prev" in r.body])

    def test_repeats_go_to_the_next_server(self) -> None:
        other = self.start(self.fake.store)
        for fault in (lose, drop, hang, refusal("stopping"), refusal("unknown")):
            with self.subTest(fault=fault):
                server = Server([self.fake.url, other.url])
                self.fake.usual["acquire"] = fault
                with self.dozing(), self.clock.running(0.2):
                    lease = server.acquire("a", duration=D, wait=0)
                    self.leases.append(lease)
                first, second = self.fake.sent("acquire")[-1], other.sent("acquire")[-1]
                self.assertEqual(first.body["uuid"], second.body["uuid"])
                lease.release()

    def test_server_that_is_gone_is_passed_over(self) -> None:
        with socket.socket() as gone:
            gone.bind(("127.0.0.1", 0))
            server = Server([f"http://127.0.0.1:{gone.getsockname()[1]}", self.fake.url])
            with self.dozing():
                self.leases.append(server.acquire("a", duration=D, wait=0))


class Secrets(Case):
    def setUp(self) -> None:
        super().setUp()
        self.server = Server(self.fake.url, token=TOKEN)

    def test_token_is_sent_and_shown_to_nobody(self) -> None:
        lease = self.acquire()
        self.assertEqual(self.fake.requests[0].token, f"Bearer {TOKEN}")
        self.assertNotIn(TOKEN, repr(self.server) + repr(lease))
        lease.release()
        for fault in (echo, echo_in_status):
            self.fake.usual["acquire"] = fault
            with self.subTest(fault=fault.__name__), self.dozing():
                with self.assertRaises(dlock.Error) as caught:
                    self.acquire()
                self.assertNotIn(TOKEN, repr(caught.exception) + str(caught.exception))
                self.assertIsNone(caught.exception.__cause__)
                self.assertIsNone(caught.exception.__context__)

    def test_redirects_are_not_followed(self) -> None:
        trap = self.start()
        for status in (301, 302, 303, 307, 308):
            self.fake.usual["acquire"] = answer(status, b"", Location=f"{trap.url}/v1/default/leases/acquire")
            with self.subTest(status), self.dozing(), self.assertRaises(Unreachable):
                self.acquire()
        self.assertFalse(trap.requests)

    def test_token_goes_over_plain_http_to_this_machine_alone(self) -> None:
        for host in ("example.com", "10.0.0.1", "[fe80::1]", "localhost.example.com", "127.0.0.1.example.com"):
            with self.subTest(host), self.assertRaises(ValueError) as caught:
                Server(["https://a", f"http://{host}:7420"], token=TOKEN)
            self.assertNotIn(TOKEN, str(caught.exception))
            Server(f"http://{host}:7420", token=TOKEN, insecure=True)
            Server(f"https://{host}", token=TOKEN)
            Server(f"http://{host}")
        for host in ("localhost", "127.0.0.1", "127.9.9.9", "[::1]"):
            Server(f"http://{host}:7420", token=TOKEN)

    def test_token_that_no_header_can_carry_is_refused_and_not_shown(self) -> None:
        for token in ("a\r\nX: y", "", "a b", "ä", TOKEN + "\n"):
            with self.subTest(token), self.assertRaises(ValueError) as caught:
                Server(self.fake.url, token=token)
            self.assertNotIn(TOKEN, str(caught.exception))

    def test_environment_sends_the_token_to_no_proxy(self) -> None:
        trap = self.start()
        with mock.patch.dict(os.environ, {"http_proxy": trap.url, "HTTP_PROXY": trap.url, "no_proxy": ""}):
            self.acquire()
        self.assertFalse(trap.requests)


class Tls(Case):
    """With a certificate for localhost that no client trusts, and its key."""

    def setUp(self) -> None:
        super().setUp()
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(CERTIFICATE)
            file.flush()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file.name)
        secure = Fake.__new__(Fake)
        with mock.patch.object(threading.Thread, "start"):
            Fake.__init__(secure, self.clock)
        secure.socket = context.wrap_socket(secure.socket, server_side=True)
        threading.Thread(target=secure.serve_forever, args=(0.02,), daemon=True).start()
        self.addCleanup(secure.stop)
        self.secure = secure
        self.url = secure.url.replace("http", "https")

    def test_server_of_a_trusted_authority_is_used(self) -> None:
        tls = ssl.create_default_context(cadata=CERTIFICATE[CERTIFICATE.index("-----BEGIN CERT") :])
        self.server = Server(self.url, token=TOKEN, tls=tls)
        lease = self.acquire()
        self.assertTrue(lease.renew())
        self.assertIs(lease.release(), True)

    def test_server_that_nobody_trusts_gets_no_token(self) -> None:
        self.server = Server(self.url, token=TOKEN)
        with self.dozing(), self.assertRaises(Unreachable) as caught:
            self.acquire()
        self.assertIn("certificate", str(caught.exception))
        self.assertFalse(self.secure.requests)

    def test_handshake_of_one_byte_at_a_time_is_given_up(self) -> None:
        stop = threading.Event()

        def drip_handshakes(listener: socket.socket) -> None:
            listener.settimeout(0.01)
            clients: list[socket.socket] = []
            while not stop.wait(0.01):
                with contextlib.suppress(OSError):
                    clients.append(listener.accept()[0])
                    clients[-1].sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
                for client in clients:
                    with contextlib.suppress(OSError):
                        client.sendall(b"x")
            for client in clients:
                client.close()

        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=drip_handshakes, args=(listener,))
            thread.start()
            self.addCleanup(thread.join)
            self.addCleanup(stop.set)
            self.server = Server(f"https://127.0.0.1:{listener.getsockname()[1]}")
            with self.clock.running(0.5), self.assertRaises(Unreachable):
                self.acquire()
            eventually(lambda: not threads("request"), "requests end")
            stop.set()
            thread.join()


class Exclusion(unittest.TestCase):
    """In real time, as in production: several clients, two servers before one store, and faults of all kinds."""

    def test_never_two_valid_leases_whatever_is_lost_late_or_doubled(self) -> None:
        seed = int(os.environ.get("DLOCK_TEST_SEED", random.randrange(1 << 30)))
        random.seed(seed)
        store = Store(time.monotonic)
        fakes = [Fake(time.monotonic, store) for _ in range(2)]
        faults = [honest, honest, honest, lose, drop, done_and_hang, drip, twice, late, slow, slow]
        deck: list[Fault] = []
        decks: list[int] = []
        mutex = threading.Lock()

        def some(handler: Handler, request: Request) -> None:
            with mutex:
                if not deck:  # each fault comes up once before any comes up again
                    deck.extend(random.sample(faults, len(faults)))
                    decks.append(len(decks))
                fault = deck.pop()
            fault(handler, request)

        for fake in fakes:
            fake.usual = dict.fromkeys(fake.usual, some)
        stop = threading.Event()
        current: list[Lease | None] = [None] * 9
        grants: list[tuple[str, int]] = []
        overlaps: list[str] = []

        def work(i: int) -> None:
            server = Server([fake.url for fake in fakes])
            while not stop.is_set():
                with contextlib.suppress(dlock.Error):
                    # Some cannot renew: all their renewals are lost for longer than any of these faults
                    # lasts.
                    renews = random.random() < 0.5
                    lease = server.acquire("abc"[i % 3], duration=D, wait=D, renew=renews)
                    current[i] = lease
                    grants.append((lease.name, lease.token))
                    lease.lost.wait(random.choice([0.0, 0.1 * D, D]) if renews else 2 * D)
                    if renews:
                        lease.release()

        def watch() -> None:
            while not stop.is_set():
                leases = [lease for lease in list(current) if lease is not None]
                for one in leases:
                    for two in leases:
                        # `one` was valid before and after: so it was in between, when `two` was asked.
                        if one is not two and one.name == two.name and one.valid and two.valid and one.valid:
                            overlaps.append(f"{one} and {two}, seed {seed}")
                stop.wait(0.001)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(current))] + [threading.Thread(target=watch)]
        for thread in threads:
            thread.start()
        try:
            eventually(lambda: overlaps or len(grants) >= 15 and len(decks) > 3, "grants, faults", 120)
        finally:
            stop.set()
            for fake in fakes:
                fake.stop()
            for thread in threads:
                thread.join()
            for lease in filter(None, current):
                lease._stop.set()
            # The next test has another clock.
            eventually(lambda: not dlock._running, "threads end")
        self.assertFalse(overlaps)
        self.assertEqual(len(grants), len(set(grants)), "a token twice")


class Clocks(unittest.TestCase):
    def test_clock_goes_on_and_counts_a_suspension(self) -> None:
        first = dlock.now()
        time.sleep(0.01)
        self.assertGreaterEqual(dlock.now() - first, 0.009)

    @unittest.skipUnless(hasattr(time, "CLOCK_BOOTTIME"), "only Linux has this clock")
    def test_suspension_counts_and_slewing_does_not(self) -> None:
        clocks = {time.CLOCK_MONOTONIC_RAW: 5.0, time.CLOCK_MONOTONIC: 7.0, time.CLOCK_BOOTTIME: 7.0}
        with mock.patch("time.clock_gettime_ns", lambda clock: int(clocks[clock] * 1e9)):
            self.assertEqual(dlock.now(), 5.0)
            clocks[time.CLOCK_BOOTTIME] += 100.0
            self.assertEqual(dlock.now(), 105.0)
            clocks[time.CLOCK_MONOTONIC] += 1.0
            clocks[time.CLOCK_BOOTTIME] += 1.0
            self.assertEqual(dlock.now(), 105.0)


@unittest.skipUnless("DLOCK_TEST_SERVER" in os.environ, "asked for by DLOCK_TEST_SERVER=http://HOST:PORT")
class RealServer(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server(
            os.environ["DLOCK_TEST_SERVER"].split(","), token=os.environ.get("DLOCK_TEST_TOKEN"), insecure=True
        )
        self.name = f"test-{uuid.uuid4()}"

    def test_second_is_refused_then_waits_and_gets_a_higher_token(self) -> None:
        with self.server.lock(self.name, duration=10.0, owner="the first") as first:
            with self.assertRaises(Held) as caught, self.server.try_lock(self.name, duration=10.0):
                self.fail("both have it")
            self.assertEqual(caught.exception.record["owner"], "the first")
            got: list[Lease] = []
            waiter = threading.Thread(
                target=lambda: got.append(self.server.acquire(self.name, duration=10.0, wait=60.0))
            )
            waiter.start()
            time.sleep(0.5)
            self.assertFalse(got)
        waiter.join(60)
        self.assertGreater(got[0].token, first.token)
        self.assertIs(got[0].release(), True)

    def test_waiter_gets_what_a_dead_holder_leaves(self) -> None:
        dead = self.server.acquire(self.name, duration=2.0, renew=False)
        with self.server.lock(self.name, duration=10.0, wait=60.0) as lease:
            self.assertFalse(dead.valid)
            self.assertGreater(lease.token, dead.token)

    def test_revoked_holder_learns_it_by_its_next_renewal(self) -> None:
        lease = self.server.acquire(self.name, duration=LONG, renew=False)
        self.assertIs(self.server._release(self.name, lease._term, lease.token, dlock.now() + LONG, LONG), True)
        with self.assertRaises(Lost):
            lease.renew()
        self.assertTrue(lease.lost.is_set())

    @unittest.skipUnless(hasattr(signal, "setitimer"), "only Unix has this timer")
    def test_signal_handler_that_raises_leaves_no_lease(self) -> None:
        def use(i: int) -> None:
            with self.server.try_lock(f"{self.name} {i}", duration=3.0):
                pass

        times = interrupt_often(100, use)
        for i in range(times + 1):
            # One that is not renewed is free after its duration.
            self.server.acquire(f"{self.name} {i}", duration=3.0, wait=60.0).release()
        eventually(lambda: not threads("lease") and not threads("request"), "threads end")

    def test_coroutines_take_turns_and_those_that_are_cancelled_do_not_wait(self) -> None:
        async def work() -> int:
            async with self.server.lock(self.name, duration=10.0) as lease:
                await asyncio.sleep(0.05)
                return lease.token

        async def main() -> list[int]:
            tasks = [asyncio.ensure_future(work()) for _ in range(12)]
            await asyncio.sleep(0.2)
            for task in tasks[::3]:
                task.cancel()
            ends = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 300)
            return [end for end in ends if isinstance(end, int)]

        tokens = asyncio.run(main())
        self.assertEqual(len(tokens), len(set(tokens)))
        self.assertGreaterEqual(len(tokens), 8)
        with self.server.lock(self.name, duration=10.0, wait=60.0) as lease:
            self.assertGreater(lease.token, max(tokens))

    def test_cancelled_wait_takes_nothing(self) -> None:
        async def wait() -> None:
            async with self.server.lock(self.name, duration=10.0):
                self.fail("both have it")

        async def main() -> None:
            task = asyncio.ensure_future(wait())
            await asyncio.sleep(0.5)
            task.cancel()
            await asyncio.wait([task])

        with self.server.lock(self.name, duration=600.0):
            asyncio.run(main())
            eventually(lambda: not threads("wait") and not threads("release"), "it has given up")
            time.sleep(0.5)
        # A wait that the server did not end would have the lease now, and nothing would renew it.
        self.server.acquire(self.name, duration=10.0, wait=0).release()

    def test_wrong_name_is_refused(self) -> None:
        for name in ("", "a\0b", "x" * 2000):
            with self.subTest(name[:5]), self.assertRaises(Refused):
                self.server.acquire(name, wait=0)


CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgnO3Sm/SFj9K8iEBb
WCrGJxVynhfbA3+gYJ5ufrypJT2hRANCAAQowfI6H9Tf6l92M1NjgxsCpQWzCQ1E
GkPfLghUb2QYkXylPMkZ7kzvTm6b9ecAwH/F35dEHbzLuDnpLuj3Vm0K
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUWkTUSh38bb0T929PVybsOnJW8TQwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTA0NDUzMFoYDzIxMjYxMTAx
MDQ0NTMwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQowfI6H9Tf6l92M1NjgxsCpQWzCQ1EGkPfLghUb2QYkXylPMkZ7kzv
Tm6b9ecAwH/F35dEHbzLuDnpLuj3Vm0Ko28wbTAdBgNVHQ4EFgQUB/PwRB/IVzvO
qlgU2ntxDdHRS7UwHwYDVR0jBBgwFoAUB/PwRB/IVzvOqlgU2ntxDdHRS7UwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAKfO4xzcqOFVGqz3o8D8VANHAGIEOVmvYW7gmzUrfnb1AiEA
vH7Gzy2/JuTWSXQeKpd5dxjVtHSX+GnIZ9HwCq8l8jk=
-----END CERTIFICATE-----
"""

if __name__ == "__main__":
    unittest.main()
