"""Locks of a dlock server: leases over HTTP, with fencing tokens. One file, standard library only, Python >= 3.9.

    from dlock import Server

    server = Server("http://127.0.0.1:7420")
    with server.lock("nightly", duration=30.0, wait=60.0) as lease:
        write_report(lease.token)      # the storage refuses tokens lower than the highest it has seen
        lease.check()                  # raises Lost: stop before the next step

In a coroutine it is `async with server.lock(..)`, with the same arguments. The work must not block the event loop for
long, but the lease is renewed meanwhile: its thread does not need the loop.

A lease ends automatically `duration` seconds after it was last renewed, so a holder that dies blocks others for no
longer. A thread renews it in the background. The client believes in its lease for 0.8 of the duration, counted from
*before* it sent the request, on a clock that is never set; the rest is the margin for clocks that run at other rates.
When that time has passed without a renewal, `lease.lost` is set, whatever the network does.

Guaranteed, with an honest server: at most one client finds `lease.valid`, whether requests and replies are lost, late
or doubled, servers die, or machines sleep.

Not guaranteed: between `lease.check()` and the arrival of a write any amount of time may pass (the process or its
virtual machine is paused). Only a storage that checks `lease.token` refuses such a write. And a server that lies can
grant a lease to two clients, or to none: it is the judge. A lie cannot make a client believe in a lease for longer than
0.8 of its duration after an answer, and never without one.

An exception that a signal handler raises, at whatever moment, leaves no lease that is renewed: leaving the `with`
statement ends the renewals, and so does the end of the last reference to a lease that was acquired by hand. The lease
is then released in the background.

Leases are not re-entrant. Threads may share a `Server` and a `Lease`. Forked children may use a `Server`; a lease
belongs to the process that acquired it, and is invalid in a child.
"""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import contextlib
import dataclasses
import functools
import hashlib
import http.client
import ipaddress
import json
import math
import os
import queue
import random
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse
import uuid
import weakref
from typing import Any, Callable, Coroutine, Mapping, Sequence

__all__ = ["Error", "Held", "Lease", "Lock", "Lost", "Refused", "Server", "Unreachable"]

_BELIEF = 0.8
"""The part of a duration for which a holder believes in its lease. Safe while clock rates are at most 10 % wrong on
both sides."""
_LONGEST_WAIT = 25.0
"""The longest wait that a server takes."""
_LONGEST_BODY = 1 << 20
_MOST_ATTEMPTS = 256
"""Acquires in flight, including those that were given up and still hang, in a name server for instance. Other requests
have as many places: waiting acquires keep no lease from being renewed."""

_CODES = {
    "held": 409, "spent": 409, "lost": 409, "not-held": 409, "changed": 409,
    "bad-request": 400, "unauthenticated": 401, "forbidden": 403, "not-found": 404, "method-not-allowed": 405,
    "too-slow": 408, "too-large": 413, "not-json": 415, "misdirected": 421, "too-many": 429, "fatal": 500,
    "overloaded": 503, "stopping": 503, "not-applied": 503, "unknown": 504,
}  # fmt: skip
"""The codes of a server, each with its status. Anything else is not the answer of a server of dlock."""
_CONFLICTS = {"acquire": ("held", "spent"), "renew": ("lost",), "release": ("not-held",)}
"""The refusals that each request can have."""
_NOTHING_DONE = {"too-slow", "too-many", "overloaded", "stopping", "not-applied"}


class Error(Exception):
    """The errors of this client, except for wrong arguments."""


class Held(Error):
    """Another client has the lease, and had it for as long as the caller wanted to wait.

    `record` is what the server shows of it: `owner`, `since`, `remaining_ms` and others, for people.
    """

    def __init__(self, name: str, record: Mapping[str, Any]) -> None:
        owner = str(record.get("owner", ""))[:100]
        super().__init__(f"{name!r} is held by {owner!r}" if owner else f"{name!r} is held")
        self.record = record


class Lost(Error):
    """The lease has ended: stop what it protects. `work_finished`: the work had ended by then, but too late to be
    certain that it was alone."""

    work_finished = False


class Refused(Error):
    """The server refuses the request, and would refuse it again: a wrong argument, a missing right, or a broken
    store."""


class Unreachable(Error):
    """No server has given an answer. Nothing is known about the lease; if there is one it ends automatically."""


if sys.platform == "linux":

    def now() -> float:
        """Seconds on a clock that is never set or slewed, and that counts the time the machine was suspended."""
        # In this order a suspension between two readings makes the result at most as late as the last of them.
        raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        monotonic = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return (raw + max(0, boot - monotonic)) / 1e9

elif sys.platform == "darwin":

    def now() -> float:
        """Seconds on a clock that is never set or slewed; Apple's continues while the machine sleeps."""
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) / 1e9

else:

    def now() -> float:
        """Seconds on the best clock that is available everywhere. It may stop while the machine sleeps."""
        return time.monotonic()


def _awake() -> float:
    """Seconds for a contender, who must never count too many: this one stops while a machine sleeps."""
    return time.monotonic()


_running: dict[object, str] = {}
"""The threads of this client, with what each of them does."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)


def _start(what: str, function: Callable[[], object]) -> None:
    """Runs a function in a thread that keeps no process alive. Raises `RuntimeError` if there are too many.

    Not in a `threading.Thread`. If a signal handler raises while that is being started, it can leave a thread that
    hangs, and even raise something else instead.
    """

    begun: list[bool] = []

    def run() -> None:
        begun.append(True)
        _running[run] = what
        try:
            function()
        finally:
            _running.pop(run, None)

    try:
        _running[run] = what
        _thread.start_new_thread(run, ())
    except BaseException:
        if not begun:
            _running.pop(run, None)
        raise


class _Latch:
    """An event for one thread that waits.

    The lock inside a `threading.Event` stays locked forever if a signal handler raises at a bad moment, and the other
    thread hangs. A `SimpleQueue` has no such moment.
    """

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._set = False

    def set(self) -> None:
        self._set = True
        self.queue.put(None)

    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> None:
        """Returns early when it is set, or spuriously."""
        with contextlib.suppress(queue.Empty):
            self.queue.get(timeout=seconds)


class _Abandoned(Exception):
    """Ends an acquire whose coroutine was cancelled."""


def _wait(event: _Latch, until: float, step: float, lock: Lock | None = None) -> None:
    """Waits for an event, or until the clock says so. Raises `_Abandoned` when the lock is not wanted any more.

    The clock is read again after each `step`: timers follow another clock, which stops while a machine sleeps.
    """
    while not event.is_set():
        if lock is not None and lock._abandoned:
            raise _Abandoned
        left = until - now()
        if left <= 0:
            break
        event.wait(min(left, step))


def _sleep(until: float, span: float, lock: Lock | None = None) -> None:
    _wait(_Latch(), until, min(span / 10, 1.0), lock)


@dataclasses.dataclass(frozen=True)
class _Reply:
    """The result of a request."""

    code: str = ""
    """`ok`, the code of a problem, or `refused` if a repeat cannot help; empty if there was no answer."""
    body: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    maybe: bool = False
    """The server may have done it, although there is no answer that says so."""
    why: str = ""
    """For people, if the request did not succeed."""
    retry_after: float = 0.0
    at: float = -math.inf
    """When the answer had arrived."""

    def is_success(self) -> bool:
        return self.code == "ok"


class _Attempt:
    """One request, with its own connection and thread, so that it can be given up whatever it hangs in: a name server,
    a handshake, a reply of one byte a second."""

    def __init__(self, server: Server, url: urllib.parse.SplitResult, what: str, body: bytes, seconds: float) -> None:
        self.answered = _Latch()
        self._server = server
        self._url = url
        self._what = what
        self._body = body
        self._seconds = seconds
        self._reply = _Reply()
        self._given_up = False
        self._sending = False
        self._socket: socket.socket | None = None

    def run(self) -> None:
        try:
            self._reply = self._exchange()
        except OSError as error:
            self._reply = _Reply(maybe=self._sending, why=str(error) or type(error).__name__)
        except Exception as error:  # a malformed answer can make http.client and json raise anything
            self._reply = _Reply(maybe=self._sending, why=f"not a reply in HTTP: {type(error).__name__}")
        finally:
            if self._socket is not None:
                self._socket.close()
            self.answered.set()

    def give_up(self) -> _Reply:
        """Ends the request, if it has not ended already; returns the reply, if there is one."""
        if self.answered.is_set():
            return self._reply
        self._given_up = True
        if self._socket is not None:
            # Not the method of SSLSocket, which would take the connection apart under the thread that reads it.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        return _Reply(maybe=self._sending, why="no answer in time")

    def _exchange(self) -> _Reply:
        host = self._url.hostname or ""
        secure = self._url.scheme == "https"
        port = self._url.port or (443 if secure else 80)
        self._socket = socket.create_connection((host, port), timeout=self._seconds)
        # Headers and body are sent separately; the second would wait until the first has been acknowledged.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if secure:
            # Cannot be shut meanwhile, but the time-out covers all of the handshake.
            self._socket = self._server._context().wrap_socket(self._socket, server_hostname=host)
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(host, port)
        connection.sock = self._socket
        self._sending = True
        # After `_sending`, since the thread that gives up reads them the other way round: a request not known to be
        # sent was not.
        self._give_way()
        path = f"{self._url.path.rstrip('/')}/v1/{self._server._namespace}/leases/{self._what}"
        connection.request("POST", path, self._body, self._server._headers())
        response = connection.getresponse()
        body = response.read(_LONGEST_BODY + 1)
        at = now()
        return dataclasses.replace(self._server._understood(self._what, response, body), at=at)

    def _give_way(self) -> None:
        if self._given_up:
            raise TimeoutError("given up")


class Server:
    """One or more servers of one store.

    `urls` are tried in turn: a request that one of them does not answer is repeated at the next. `token` is sent as a
    bearer token, over plain HTTP only to this machine unless `insecure`; redirects are never followed. `tls` replaces
    the default context, for a private authority or a client certificate. No proxy of the environment is used.

    Raises `ValueError` if an argument is invalid.
    """

    def __init__(
        self, urls: str | Sequence[str], *, namespace: str = "default", token: str | None = None,
        tls: ssl.SSLContext | None = None, insecure: bool = False,
    ) -> None:
        self._urls = [_checked(url) for url in ([urls] if isinstance(urls, str) else urls)]
        if not self._urls:
            raise ValueError("at least one URL is needed")
        if not re.fullmatch("[a-z0-9-]{1,63}", namespace):
            raise ValueError("a namespace is 1 to 63 of a-z, 0-9 and -")
        if token is not None:
            if not re.fullmatch("[!-~]+", token):
                raise ValueError("a token is ASCII without spaces")
            if not insecure and any(url.scheme == "http" and not _is_loopback(url) for url in self._urls):
                raise ValueError("a token over plain HTTP can be read in transit: use https, or insecure=True")
        self._namespace = namespace
        self._token = token
        self._tls = tls
        self._turn = 0
        self._seen: dict[str, tuple[object, float]] = {}

    def __repr__(self) -> str:
        return f"Server({[url.geturl() for url in self._urls]!r}, namespace={self._namespace!r})"

    def lock(
        self, name: str, *, duration: float = 30.0, wait: float | None = None, owner: str | None = None,
        on_lost: Callable[[], object] | None = None,
    ) -> Lock:
        """For one `with` statement under the lease, with the arguments of `acquire`, or for one `async with` in a
        coroutine. It releases the lease after the work, and raises `Lost` if the work has ended without an exception,
        but not within the lease."""
        return Lock(self, name, duration, wait, owner, on_lost)

    def try_lock(
        self, name: str, *, duration: float = 30.0, owner: str | None = None,
        on_lost: Callable[[], object] | None = None,
    ) -> Lock:
        """`lock` that does not wait for others: raises `Held` at once."""
        return self.lock(name, duration=duration, wait=0, owner=owner, on_lost=on_lost)

    def acquire(
        self, name: str, *, duration: float = 30.0, wait: float | None = None, owner: str | None = None,
        on_lost: Callable[[], object] | None = None, renew: bool = True,
    ) -> Lease:
        """Waits for the lease of `name` for up to `wait` seconds: `None` for as long as it takes, 0 for one try.

        `duration`, 0.1 s to 24 h, is how long others are kept out after a holder died. `owner` is a label for people.
        `on_lost` is called in a separate thread when the lease is lost. Without `renew` the caller renews by
        `lease.renew()`. Keep the lease, and release it by `with` or `release()`: a lease that is no longer referred to
        is released, too.

        Raises `Held`; `Refused`; `Unreachable` if no server answered for 10 s, and for the duration if that is longer;
        `RuntimeError` in a coroutine.
        """
        _refuse_in_event_loop()
        return self._acquire(None, name, duration, wait, owner, on_lost, renew)

    def _acquire(
        self, lock: Lock | None, name: str, duration: float, wait: float | None, owner: str | None,
        on_lost: Callable[[], object] | None, renew: bool,
    ) -> Lease:
        if not isinstance(name, str):
            raise TypeError("a name is a str")
        try:
            name.encode()
        except UnicodeEncodeError:
            # JSON would make one name of two, such as a surrogate pair and its character.
            raise ValueError(f"a name is text that UTF-8 can encode, without surrogates: {name!r}") from None
        if not 0.1 <= duration <= 86_400.0:
            raise ValueError("a duration is 0.1 s to 24 h")
        if wait is not None and not wait >= 0:
            raise ValueError("a wait is not negative")
        millis = int(duration * 1000)  # the client never believes for longer than the duration it requested
        span = millis / 1000
        owner = f"{socket.gethostname()}:{os.getpid()}" if owner is None else owner
        request = {"name": name, "duration_ms": millis, "owner": owner.encode(errors="replace").decode()}
        heard = now()
        limit = math.inf if wait is None else heard + (wait or span / 3)
        poll = min(max(span / 10, 0.1), 1.0)
        mine: dict[str, str] = {}  # the newest tries, as records show them
        prev: Mapping[str, Any] | None = None
        record: Mapping[str, Any] | None = None
        while True:
            # A definite answer ends a try. The next one is another: its own uuid, its own `sent`.
            term = str(uuid.UUID(bytes=os.urandom(16), version=4))
            mine[_shown(term)] = term
            if len(mine) > 8:
                del mine[next(iter(mine))]
            longest = 0.0
            body: dict[str, Any] = {**request, "uuid": term}
            if prev is not None:
                # Without a wait: the server would wait, since it sees a record that is held.
                body["prev"] = prev
            elif wait != 0:
                # Not so long that a grant at its end, or a repeat, could not be used; and it leaves time for the
                # answer.
                left = limit - now()
                longest = max(0.0, min(_LONGEST_WAIT, span / 2, left - min(span / 6, left / 2)))
                body["wait_ms"] = int(longest * 1000)
            sent = now()
            lease = None
            try:
                reply, once = self._try(body, sent, longest, limit, span, lock)
                prev = None
                if reply.is_success():
                    start = sent
                    if once:
                        # Not more than was requested, nor later than the answer: the server's word alone moves nothing.
                        waited = min(_whole(reply.body.get("waited_ms")), body.get("wait_ms", 0)) / 1000
                        start = max(sent, min(sent + _BELIEF * waited, reply.at))
                    if now() < start + _BELIEF * span:
                        lease = Lease(self, name, term, reply.body["token"], span, start, on_lost, renew)
                        if lock is not None:
                            lease._within = _entered(lock._statement)
                        lease._begin(lock or lease)
                        return lease
                    self._give_back(name, term, span)
                    heard, reply = now(), _Reply(why="the grant was known too late to be used")
            except BaseException:  # the caller is interrupted, and takes no lease
                if lease is not None:
                    lease._abandoned = True
                self._give_back(name, term, span)
                raise
            if reply.code == "held":
                heard, record = now(), reply.body
                # A late copy of an ended try of ours, whose lease no caller got? Or has its holder died?
                version = {"uuid": str(record.get("uuid")), "renewals": _whole(record.get("renewals"))}
                if version["uuid"] in mine:
                    prev = {**version, "uuid": mine[version["uuid"]]}
                elif self._is_dead(name, version, record.get("duration_ms")):
                    prev = version
            elif reply.code == "spent":
                heard = now()
            elif reply.code == "refused":
                raise Refused(f"{name!r}: {reply.why}")
            if wait == 0 and reply.code != "spent" and prev is None:
                limit = now()
            # A server that answers at once, whatever the request, gets no more requests than one that is polled.
            resume = max(now() + 0.01, sent + poll * random.uniform(0.9, 1.0), now() + reply.retry_after)
            _sleep(min(resume, limit), span, lock)
            if now() - heard > max(span, 10.0) or resume >= limit and record is None:
                raise Unreachable(f"{name!r}: {reply.why}")
            if resume >= limit and record is not None:
                raise Held(name, record)

    def _is_dead(self, name: str, version: Mapping[str, Any], duration: object) -> bool:
        """Whether the record has been seen unchanged for its own duration: no holder acts on it any more.

        Some stores have no clock that decides when a lease has ended. There only contenders can find out, and a server
        can do it for them only within one wait, which may be too short.
        """
        seen, since = self._seen.get(name, (None, 0.0))
        if seen == version:
            return 0 < _whole(duration) / 1000 <= _awake() - since
        if len(self._seen) >= 1000:
            self._seen.clear()
        self._seen[name] = (version, _awake())
        return False

    def _try(
        self, body: dict[str, Any], sent: float, wait: float, limit: float, span: float, lock: Lock | None
    ) -> tuple[_Reply, bool]:
        """Repeats one try until it is answered or further attempts are useless; returns also whether it was sent once
        only."""
        until = min(sent + wait + span / 3, sent + _BELIEF * span)
        maybe = False
        once = True
        while True:
            reply = self._call("acquire", body, min(now() + wait + span / 6, limit), span, lock)
            if reply.is_success() and not 1 <= _whole(reply.body.get("token")) < 1 << 53:
                reply = _Reply(maybe=True, why="a grant without a token")
            maybe = maybe or reply.maybe
            if reply.is_success() or reply.code in ("held", "spent"):
                return reply, once
            resume = now() + max(_pause(span), reply.retry_after)
            if reply.code == "refused" or resume >= min(until, limit):
                break
            _sleep(resume, span, lock)
            once = False
            body.pop("wait_ms", None)
            wait = 0.0
        if maybe:
            self._give_back(body["name"], body["uuid"], span)
        return reply, once

    def _give_back(self, name: str, term: str, span: float) -> None:
        """Releases in the background a lease that was, or may have been, granted and that the caller does not get."""
        until = now() + span
        # If no thread can be started the record expires.
        with contextlib.suppress(RuntimeError):
            _start("release", functools.partial(self._release, name, term, None, until, span))

    def _release(self, name: str, term: str, token: int | None, until: float, span: float) -> bool | None:
        """Sends a release until it is answered; returns whether the term was this client's to the end, `None` if that
        is not known."""
        body: dict[str, Any] = {"name": name, "uuid": term}
        if token is not None:
            body["token"] = token
        maybe = False
        while True:
            reply = self._call("release", body, now() + span / 6, span)
            if reply.is_success():
                return True
            if reply.code == "not-held":
                # An earlier attempt may have been applied, and another client been quick.
                return None if maybe else False
            maybe = maybe or reply.maybe
            resume = now() + _pause(span)
            if reply.code == "refused" or resume >= until:
                return None
            _sleep(resume, span)

    def _call(
        self, what: str, body: Mapping[str, Any], until: float, span: float, lock: Lock | None = None
    ) -> _Reply:
        """One attempt of one request, given up when the clock says so."""
        most = _MOST_ATTEMPTS if what == "acquire" else 2 * _MOST_ATTEMPTS
        if list(_running.values()).count("request") >= most:
            return _Reply(why=f"{most} requests of this process are in flight")
        turn = self._turn % len(self._urls)
        seconds = min(max(until - now(), 0.001), 60.0)
        attempt = _Attempt(self, self._urls[turn], what, json.dumps(body).encode(), seconds)
        try:
            try:
                _start("request", attempt.run)
            except RuntimeError as error:
                return _Reply(why=str(error))
            _wait(attempt.answered, until, min(span / 10, 1.0), lock)
        finally:
            reply = attempt.give_up()
        if reply.code in ("", *_NOTHING_DONE):
            self._turn = turn + 1
        return reply

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        return headers

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    def _understood(self, what: str, response: http.client.HTTPResponse, body: bytes) -> _Reply:
        """Parses a response. One that no server of dlock sends counts as no answer: the request may have been done."""
        status = response.status
        strange = _Reply(maybe=True, why=f"status {status}, and not the answer of a dlock server")
        said: Any = None
        if len(body) <= _LONGEST_BODY:
            with contextlib.suppress(ValueError):
                said = json.loads(body)
        if status == 200:
            return _Reply("ok", said) if isinstance(said, dict) else strange
        code = said.get("code") if isinstance(said, dict) else None
        known = isinstance(code, str) and _CODES.get(code) == status
        if known and code in _CONFLICTS[what]:
            record = said.get("record")
            return _Reply(code, record if isinstance(record, dict) else {}, why=code)
        detail = self._told(said.get("detail") if known else None)
        why = f"{code} ({status}){detail}" if known else f"status {status}"
        if known and code in _NOTHING_DONE:
            return _Reply(code, why=why, retry_after=_seconds(response.getheader("Retry-After")))
        if known and code == "unknown":
            return _Reply(maybe=True, why=why)
        if code == "fatal" and known or 400 <= status < 500 and status not in (408, 409, 425, 429):
            return _Reply("refused", why=why)
        return strange

    def _told(self, detail: object) -> str:
        """A server's text for people, without the secrets that it should not repeat."""
        if not isinstance(detail, str):
            return ""
        if self._token is not None:
            detail = detail.replace(self._token, "...")
        return f": {detail[:300]!r}"


class _Leaving:
    """The `__exit__` or `__aexit__` of a lock or lease.

    A statement finds an object here that has no other references. So that object exists until the statement is left,
    and no longer, even if a signal handler raises before the first line of `__exit__`, and the exception with its
    traceback is kept.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def __get__(self, owner: Lock | Lease | None, kind: type[Lock | Lease]) -> Callable[..., Any]:
        if owner is None:
            return self._method  # for `contextlib.ExitStack`, which keeps the owner itself
        statement = functools.partial(self._method, owner)
        owner._statement = weakref.ref(statement)
        return statement


def _no_statement() -> object:
    """In place of the reference to a statement."""
    return True


def _entered(statement: Callable[[], object]) -> Callable[[], object]:
    """The reference to a statement, unless its `__exit__` was looked up without one."""
    return _no_statement if statement() is None else statement


class Lease:
    """An acquired lease. See `Server.acquire`, which alone makes it."""

    def __init__(
        self, server: Server, name: str, term: str, token: int, span: float, start: float,
        on_lost: Callable[[], object] | None, renew: bool,
    ) -> None:
        self.name = name
        self.token: int = token
        """The fencing token: higher than those of all earlier leases of this name."""
        self._server = server
        self._term = term
        self._span = span
        self._on_lost = on_lost
        self._renews = renew
        self._process = os.getpid()
        self._mutex = threading.RLock()  # re-entrant: a signal handler may call it as well
        self._lost = threading.Event()
        self._stop = _Latch()
        # Guarded by the mutex.
        self._n = 0
        self._renewed = start  # `sent` of the newest success
        self._sent = start  # `sent` of the newest attempt
        self._until = start + _BELIEF * span
        self._due = start + span / 3 if renew else math.inf
        self._over = ""
        self._taken = False
        self._asked = False
        self._fatal = False
        self._failure = ""  # of the newest attempt
        self._abandoned = False  # not wanted any more, although a traceback may still refer to it
        self._statement: Callable[[], object] = _no_statement  # the statement begun last
        self._within: Callable[[], object] = _no_statement  # the lease is not wanted once this statement was left

    def __repr__(self) -> str:
        return f"<Lease of {self.name!r}, token {self.token}>"

    @property
    def valid(self) -> bool:
        """Whether the holder may still act. Once this is false it stays so."""
        return not self._end()

    @property
    def remaining(self) -> float:
        """For how many seconds the lease stays valid if no renewal succeeds; 0 once it has ended."""
        if self._end():
            return 0.0
        with self._mutex:
            return max(0.0, self._until - now())

    @property
    def lost(self) -> threading.Event:
        """Set when the lease is lost: another client has it, or its time has passed without a renewal. Not by
        `release()`."""
        if os.getpid() == self._process:
            return self._lost
        # An event that was copied by a fork may be locked forever.
        event = threading.Event()
        event.set()
        return event

    @property
    def asked(self) -> bool:
        """The lock was asked for: end the work and release it, if you can. A hint."""
        return self._asked

    @property
    def unsure(self) -> bool:
        """Renewals fail, and the lease may soon be lost: begin nothing long."""
        return self.valid and (self._fatal or now() >= self._renewed + self._span / 2)

    def check(self) -> None:
        """Raises `Lost` unless the lease is valid."""
        over = self._end()
        if over:
            raise Lost(f"{self.name!r}: {over}")

    def renew(self) -> bool:
        """Renews once; returns whether that succeeded. Needed only for a lease that was acquired without `renew`.

        Raises `Lost`. A failure is not a loss: try again while the lease is valid.
        """
        with self._mutex:
            self.check()
            # In one step: a larger number never has an earlier `sent`.
            self._n += 1
            n = self._n
            sent = self._sent = now()
            until = min(sent + self._span / 6, self._until)
        reply = self._server._call("renew", {"name": self.name, "uuid": self._term, "n": n}, until, self._span)
        with self._mutex:
            if reply.code == "lost":
                self._taken = not self._over
                self._lose("the server says that it has ended: expired there, revoked, or released by force")
            self._failure = reply.why or "an answer that came too late, or makes no sense"
            self.check()  # a success after the deadline does not count either
            self._fatal = reply.code == "refused"
            asked = reply.body.get("asked")
            if not reply.is_success() or not isinstance(asked, bool):
                return False
            self._failure = ""
            self._asked = self._asked or asked
            # The attempt's own `sent`: others may have been sent since.
            self._renewed = max(self._renewed, sent)
            self._until = max(self._until, sent + _BELIEF * self._span)
            return True

    def release(self) -> bool | None:
        """Releases the lease; end the work first. It is invalid from now on.

        Sent until it is answered, or the lease has ended at the server anyway: that takes at most the duration. `True`:
        it was valid until now, and is free. `False`: it had ended before. `None`: not known, or called twice.
        """
        if os.getpid() != self._process:
            return False  # it belongs to the parent
        try:
            with self._mutex:
                over = self._end()
                if over == _RELEASED:
                    return None
                self._over = self._over or _RELEASED
                until = self._sent + self._span
                self._stop.set()
            # Another client's lease is not this client's to release.
            kept = False if self._taken else self._server._release(self.name, self._term, self.token, until, self._span)
        except BaseException:  # the caller is interrupted, and the lease ends all the same
            self._over = self._over or _RELEASED
            self._stop.set()
            self._server._give_back(self.name, self._term, self._span)
            raise
        return False if over else kept

    def __enter__(self) -> Lease:
        self._within = _entered(self._statement)
        return self

    @_Leaving
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        over = self._end()
        kept = self.release()
        if over == _RELEASED or error is not None:
            return  # the work's own exception says more than ours
        if over or kept is False:
            lost = Lost(f"{self.name!r}: {over or 'it was over when it was given back'}; the work has ended too late")
            lost.work_finished = True
            raise lost

    def _end(self) -> str:
        """Why the lease has ended; nothing while it is valid. Reads the clock: no flag decides that it is."""
        # First of all: in a child the mutex may be locked forever.
        if os.getpid() != self._process:
            return "a lease is not inherited by a forked process"
        with self._mutex:
            if not self._over and now() >= self._until:
                self._lose(self._lateness())
            return self._over

    def _lateness(self) -> str:
        why = f" for {now() - self._renewed:.1f} s: {self._failure}" if self._failure else ""
        return f"its time has passed without a renewal{why}"

    def _lose(self, why: str) -> None:
        """The caller has the mutex."""
        if self._over:
            return
        self._over = why
        self._lost.set()
        self._stop.set()
        if self._on_lost is not None:
            with contextlib.suppress(RuntimeError):  # there are too many threads, but the event is set
                threading.Thread(target=self._on_lost, name="dlock on_lost", daemon=True).start()

    def _begin(self, holder: object) -> None:
        """Renews until the lease has ended, or its holder does not exist any more."""
        # Wakes the thread up without a line of Python, in which another exception could be raised.
        alive = weakref.ref(holder, self._stop.queue.put)
        give_back = functools.partial(self._server._release, self.name, self._term, self.token, span=self._span)
        _start("lease", functools.partial(_keep, weakref.ref(self), alive, self._stop, self._span, give_back))

    def _tend(self) -> float | None:
        """Renews if that is due, and makes a loss known. Returns when to check again; `None` for never."""
        if self._end():
            return None
        if now() >= self._due:
            try:
                renewed = self.renew()
            except Lost:
                return None
            self._due = self._renewed + self._span / 3 if renewed else now() + _pause(self._span)
        with self._mutex:
            return min(self._due, self._until)


def _keep(
    lease: weakref.ref[Lease], holder: weakref.ref[Any], stop: _Latch, span: float, give_back: Callable[..., object]
) -> None:
    """The thread of a lease. It waits for nothing but the clock: each attempt is given up in time.

    While it waits it refers neither to the lease nor to its holder. So whatever an exception of a signal handler leaves
    half done, a lease that can no longer be released is not renewed.
    """
    while not stop.is_set():
        kept = lease()
        if kept is None:
            give_back(until=now() + span)
            return
        if kept._abandoned or holder() is None or kept._within() is None:
            kept.release()
            return
        until = kept._tend()
        del kept
        if until is None:
            return
        stop.wait(max(0.0, min(until - now(), span / 10, 1.0)))


class Lock:
    """For one `with` or `async with`. See `Server.lock`, which alone makes it."""

    def __init__(
        self, server: Server, name: str, duration: float, wait: float | None, owner: str | None,
        on_lost: Callable[[], object] | None,
    ) -> None:
        self._server = server
        self._arguments = (name, duration, wait, owner, on_lost, True)
        self._statement: Callable[[], object] = _no_statement
        self._lease: Lease | None = None
        self._entered = False
        self._abandoned = False

    def __enter__(self) -> Lease:
        _refuse_in_event_loop()
        try:
            return self._take()
        except BaseException:
            self._abandon()
            raise

    @_Leaving
    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            self._give(kind, error, trace)
        finally:
            self._abandon()

    async def __aenter__(self) -> Lease:
        try:
            lease: Lease = await _in_thread(self._take)
            return lease
        except BaseException:  # even a cancellation: it ends the wait
            self._abandon()
            raise

    @_Leaving
    def __aexit__(self, *outcome: Any) -> Coroutine[Any, Any, None]:
        leaving = self._leave(*outcome)
        if self._lease is not None:
            self._lease._within = weakref.ref(leaving)  # for the rest of the statement
        return leaving

    async def _leave(self, *outcome: Any) -> None:
        try:
            await _in_thread(functools.partial(self._give, *outcome))
        finally:
            self._abandon()

    def _take(self) -> Lease:
        if self._entered:
            raise RuntimeError("a lock is for one `with` statement: call `lock` again")
        self._entered = True
        self._lease = self._server._acquire(self, *self._arguments)
        if self._abandoned:
            self._abandon()
        return self._lease

    def _give(self, *outcome: Any) -> None:
        if self._lease is not None:
            self._lease.__exit__(*outcome)

    def _abandon(self) -> None:
        """Ends the wait for a lease, and the renewals of one that was not released."""
        self._abandoned = True
        if self._lease is not None:
            self._lease._abandoned = True


def _refuse_in_event_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(
        "waiting here would stop the event loop, and with it the coroutine that has the lock: use `async with"
        " server.lock(..)`, or `await asyncio.to_thread(server.acquire, ..)`"
    )


async def _in_thread(function: Callable[[], Any]) -> Any:
    """The outcome of a function in its own thread, which does not end when the coroutine is cancelled.

    Not in a thread of the event loop: there are few, and all of them may be waiting for the lease that the caller has.
    """
    outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def run() -> None:
        with contextlib.suppress(concurrent.futures.InvalidStateError):  # it was cancelled
            try:
                outcome.set_result(function())
            except BaseException as error:
                outcome.set_exception(error)

    _start("wait", run)
    return await asyncio.wrap_future(outcome)


_RELEASED = "it was given back"


def _pause(span: float) -> float:
    """The delay before a repeat."""
    return min(span / 30, 1.0) * random.uniform(0.5, 1.0)


def _shown(term: str) -> str:
    """The pseudonym by which records show the uuid of a term, see "Leases over HTTP"."""
    digest = hashlib.sha256(b"dlock" + uuid.UUID(term).bytes).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))


def _whole(value: object) -> int:
    """A number as JSON has it; 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _seconds(header: str | None) -> float:
    return min(float(header), 30.0) if header is not None and re.fullmatch("[0-9]{1,9}", header) else 0.0


def _checked(url: str) -> urllib.parse.SplitResult:
    """Never repeats the URL: it may contain a password."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("a URL is http://HOST:PORT or https://HOST:PORT, perhaps with a path")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a URL has no user name and no password; a token is an argument")
    parts.port  # raises ValueError if it is invalid
    return parts


def _is_loopback(url: urllib.parse.SplitResult) -> bool:
    host = url.hostname or ""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
