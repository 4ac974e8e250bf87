package dlock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
	"unicode/utf8"
)

const longestWait = 25 * time.Second

// believed is the part of a duration for which a holder believes in its lease. It is safe while clock rates are at most
// 10 % wrong on both sides.
func believed(span time.Duration) time.Duration { return span / 5 * 4 }

// Lease is an acquired lease. Goroutines may share it.
type Lease struct {
	// Token is the fencing token: higher than those of all earlier leases of this name. Pass it to the storage that the
	// lease protects.
	Token uint64

	server *Server
	name   string
	term   string
	span   time.Duration
	ctx    context.Context
	cancel context.CancelCauseFunc

	mutex   sync.Mutex
	n       uint64
	renewed time.Duration // sent of the newest success
	sent    time.Duration // sent of the newest attempt
	until   time.Duration
	over    error
	taken   bool   // the server has said so
	failure string // of the newest attempt
	asked   bool
}

var errReleased = errors.New("dlock: the lease was given back")

// With waits for a lease until ctx is done, works under it, and releases it. The context passed to work is done when
// the lease is lost, with the cause [ErrLost], or when ctx is done. If work panics, the lease is released too, and the
// panic continues after a second at most, while the request to a silent server is repeated in the background.
//
// The error is the one that work returns, joined with that of the release: [ErrLost] if work has outlived its lease; or
// one of [Server.Acquire], and work was not called.
func (s *Server) With(
	ctx context.Context, name string, duration time.Duration, work func(ctx context.Context, lease *Lease) error,
) (err error) {
	lease, err := s.Acquire(ctx, name, duration)
	if err != nil {
		return err
	}
	panics := true
	defer func() {
		released := make(chan error, 1)
		go func() { released <- lease.Release() }()
		var patience <-chan time.Time
		if panics {
			patience = time.After(time.Second)
		}
		select {
		case over := <-released:
			err = errors.Join(err, over)
		case <-patience:
		}
	}()
	within, cancel := context.WithCancelCause(lease.Context())
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })()
	err = work(within, lease)
	panics = false
	return err
}

// Acquire waits for a lease until ctx is done. The lease outlives ctx, and its own context has the values of ctx.
// Release it by a deferred [Lease.Release], or it is renewed for as long as the process lives; [Server.With] does so.
//
// The duration, 100 ms to 24 h, is how long others are kept out after a holder died. The error is [HeldError] if
// another client had the lease to the end, [ErrRefused], or [ErrUnreachable] if no answer came for 10 s, and for the
// duration if that is longer.
func (s *Server) Acquire(ctx context.Context, name string, duration time.Duration) (*Lease, error) {
	return s.acquire(ctx, name, duration, true)
}

// TryAcquire is Acquire without waiting for other clients.
func (s *Server) TryAcquire(ctx context.Context, name string, duration time.Duration) (*Lease, error) {
	return s.acquire(ctx, name, duration, false)
}

func (s *Server) acquire(ctx context.Context, name string, duration time.Duration, waits bool) (*Lease, error) {
	if !utf8.ValidString(name) {
		// JSON would replace invalid bytes by U+FFFD, and make one name of several.
		return nil, fmt.Errorf("dlock: a name is UTF-8, and %q is not", name)
	}
	span := duration.Truncate(time.Millisecond)
	if span < 100*time.Millisecond || span > 24*time.Hour {
		return nil, errors.New("dlock: a duration is 100 ms to 24 h")
	}
	host, _ := os.Hostname()
	begun := s.clock()
	heard := begun
	var held error
	var prev *version
	for {
		// A definite answer ends a try. The next one is another: its own uuid, its own sent.
		term, err := newUUID()
		if err != nil {
			return nil, err
		}
		var wait time.Duration
		// Without a wait for a claim: the server would wait, since it sees a record that is held.
		if waits && prev == nil {
			// Not so long that a grant at its end, or a repeat, could not be used; and it leaves time for the answer.
			wait = min(longestWait, span/2)
			if limit, ok := ctx.Deadline(); ok {
				left := time.Until(limit)
				wait = max(0, min(wait, left-min(span/6, left/2)))
			}
		}
		body := request{
			Name: name, UUID: term, Duration: span.Milliseconds(), Wait: wait.Milliseconds(), Prev: prev,
			Owner: fmt.Sprintf("%s:%d", host, os.Getpid()),
		}
		sent := s.clock()
		answer, once := s.try(ctx, body, sent, wait, span)
		prev = nil
		switch answer.code {
		case "ok":
			start := sent
			if once {
				// Not more than was requested, nor later than the answer: the server's word alone moves nothing.
				waited := time.Duration(min(max(answer.body.Waited, 0), body.Wait)) * time.Millisecond
				start = max(sent, min(sent+believed(waited), answer.at))
			}
			if s.clock() < start+believed(span) && ctx.Err() == nil {
				return s.hold(ctx, body, *answer.body.Token, start, span), nil
			}
			s.giveBack(body, span)
			heard = s.clock()
			answer.why = "the grant was known too late to be used"
		case "held":
			heard = s.clock()
			held = &HeldError{answer.body.Record}
			prev = s.dead(name, answer.body.Record)
		case "spent":
			heard = s.clock()
		case "refused":
			return nil, fmt.Errorf("%w: %s", ErrRefused, answer.why)
		}
		over := !waits && (prev == nil && answer.code != "spent" || s.clock() >= begun+span/3)
		// A server that answers at once, whatever the request, gets no more requests than one that is polled.
		poll := min(max(span/10, 100*time.Millisecond), time.Second)
		resume := max(sent+poll, s.clock()+max(answer.after, 10*time.Millisecond))
		if !over && s.clock()-heard <= max(span, 10*time.Second) && s.sleep(ctx.Done(), resume, span) {
			continue
		}
		if held != nil && s.clock()-heard <= max(span, 10*time.Second) {
			return nil, errors.Join(held, ctx.Err())
		}
		return nil, errors.Join(fmt.Errorf("%w: %s", ErrUnreachable, answer.why), ctx.Err())
	}
}

// dead is the version of a record that has been seen unchanged for its own duration: no holder acts on it any more.
//
// Some stores have no clock that decides when a lease has ended. There only contenders can find out, and a server can
// do it for them only within one wait, which may be too short.
func (s *Server) dead(name string, record Record) *version {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	seen, ok := s.seen[name]
	if !ok || seen.version != record.version {
		if len(s.seen) >= 1000 {
			clear(s.seen)
		}
		s.seen[name] = observation{record.version, s.awake()}
		return nil
	}
	passed := s.awake().Sub(seen.since).Milliseconds()
	if record.UUID == "" || record.Duration <= 0 || passed < record.Duration {
		return nil
	}
	return &record.version
}

// try repeats one try until it is answered or further attempts are useless, and returns whether it was sent once only.
func (s *Server) try(ctx context.Context, body request, sent, wait, span time.Duration) (answer reply, once bool) {
	until := min(sent+wait+span/3, sent+believed(span))
	maybe := false
	for once = true; ; once = false {
		answer = s.call(ctx, "acquire", body, s.clock()+wait+span/6, span)
		if answer.code == "ok" && (answer.body.Token == nil || *answer.body.Token == 0 || *answer.body.Token >= 1<<53) {
			answer = reply{maybe: true, why: "a grant without a token"}
		}
		maybe = maybe || answer.maybe
		if answer.code == "ok" || answer.code == "held" || answer.code == "spent" {
			return answer, once
		}
		resume := s.clock() + max(pause(span), answer.after)
		if answer.code == "refused" || resume >= until || !s.sleep(ctx.Done(), resume, span) {
			if maybe {
				s.giveBack(body, span)
			}
			return answer, once
		}
		body.Wait, wait = 0, 0
	}
}

// giveBack releases in the background a lease that was, or may have been, granted and that the caller does not get.
func (s *Server) giveBack(body request, span time.Duration) {
	go s.release(request{Name: body.Name, UUID: body.UUID}, s.clock()+span, span)
}

// release is sent until it is answered; it returns whether another client had the lease by then, as far as that is
// known.
func (s *Server) release(body request, until, span time.Duration) (taken bool) {
	maybe := false
	for {
		answer := s.call(context.Background(), "release", body, s.clock()+span/6, span)
		switch answer.code {
		case "ok", "refused":
			return false
		case "not-held":
			// An earlier attempt may have been applied, and another client been quick.
			return !maybe
		}
		maybe = maybe || answer.maybe
		resume := s.clock() + pause(span)
		if resume >= until {
			return false
		}
		s.sleep(nil, resume, span)
	}
}

func (s *Server) hold(ctx context.Context, body request, token uint64, start, span time.Duration) *Lease {
	lease := &Lease{
		Token: token, server: s, name: body.Name, term: body.UUID, span: span,
		renewed: start, sent: start, until: start + believed(span),
	}
	lease.ctx, lease.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	go lease.keep()
	return lease
}

// Context is cancelled when the lease has ended, with the cause [ErrLost] if it was lost.
func (l *Lease) Context() context.Context { return l.ctx }

// Check returns [ErrLost] unless the lease is valid. It reads the clock: no flag decides.
func (l *Lease) Check() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.end()
}

// Remaining is how long the lease stays valid if no renewal succeeds.
func (l *Lease) Remaining() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.end() != nil {
		return 0
	}
	return max(0, l.until-l.server.clock())
}

// Asked reports that the lock was asked for: end the work and release it, if you can. A hint.
func (l *Lease) Asked() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.asked
}

// Release releases the lease; end the work first. The lease is invalid from now on. Release returns when the server has
// answered, or when the lease has ended there anyway, which takes at most the duration. The error is [ErrLost] if the
// lease had ended before.
func (l *Lease) Release() error {
	l.mutex.Lock()
	over := l.end()
	if errors.Is(over, errReleased) {
		l.mutex.Unlock()
		return nil
	}
	l.finish(errReleased)
	taken, until := l.taken, l.sent+l.span
	l.mutex.Unlock()
	// Another client's lease is not this client's to release.
	if !taken {
		taken = l.server.release(request{Name: l.name, UUID: l.term, Token: l.Token}, until, l.span)
	}
	if over == nil && taken {
		over = ErrLost
	}
	return over
}

// end is why the lease has ended, nil while it is valid. The caller has the mutex.
func (l *Lease) end() error {
	if l.over == nil && l.server.clock() >= l.until {
		why := ""
		if l.failure != "" {
			lasted := l.server.clock() - l.renewed
			why = fmt.Sprintf(" for %v: %s", lasted.Round(100*time.Millisecond), l.failure)
		}
		l.finish(fmt.Errorf("%w: its time has passed without a renewal%s", ErrLost, why))
	}
	return l.over
}

func (l *Lease) finish(why error) {
	if l.over == nil {
		l.over = why
		l.cancel(why)
	}
}

// keep renews until the lease has ended. It waits for nothing but the clock: each attempt is given up in time.
func (l *Lease) keep() {
	due := l.renewed + l.span/3
	for l.server.sleep(l.ctx.Done(), min(due, l.deadline()), l.span) && l.Check() == nil {
		if l.renew() {
			due = l.renewed + l.span/3
		} else {
			due = l.server.clock() + pause(l.span)
		}
	}
}

func (l *Lease) deadline() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.until
}

// renew renews once and returns whether that succeeded. A failure is not a loss.
func (l *Lease) renew() bool {
	l.mutex.Lock()
	if l.end() != nil {
		l.mutex.Unlock()
		return false
	}
	// In one step: a larger number never has an earlier sent.
	l.n++
	body := request{Name: l.name, UUID: l.term, N: l.n}
	sent := l.server.clock()
	l.sent = sent
	until := min(sent+l.span/6, l.until)
	l.mutex.Unlock()

	answer := l.server.call(l.ctx, "renew", body, until, l.span)

	l.mutex.Lock()
	defer l.mutex.Unlock()
	if answer.code == "lost" && l.over == nil {
		l.taken = true
		l.finish(fmt.Errorf("%w: the server says that it has ended: expired there, revoked, or released by force", ErrLost))
	}
	l.failure = answer.why
	if l.failure == "" {
		l.failure = "an answer that came too late, or makes no sense"
	}
	// A success after the deadline does not count.
	if l.end() != nil || answer.code != "ok" || answer.body.Asked == nil {
		return false
	}
	l.failure = ""
	l.asked = l.asked || *answer.body.Asked
	// The attempt's own sent, not the time of its answer.
	l.renewed = max(l.renewed, sent)
	l.until = max(l.until, sent+believed(l.span))
	return true
}

// newUUID draws a uuid of version 4 from the operating system.
func newUUID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
