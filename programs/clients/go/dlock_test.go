package dlock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// d is the duration of most leases. The client reads a clock moved by hand every tenth of it, in real time.
const d = time.Second

const secret = "s3cret-of-the-tests"

// manual is a clock that is moved by hand, so that a busy machine changes nothing.
type manual struct{ nanos atomic.Int64 }

func (c *manual) now() time.Duration         { return time.Duration(c.nanos.Load()) }
func (c *manual) advance(time time.Duration) { c.nanos.Add(int64(time)) }

// run advances the clock in small steps: on a busy machine it is slow, but never jumps.
func (c *manual) run(t *testing.T, rate float64) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
				c.advance(time.Duration(rate * float64(2*time.Millisecond)))
			}
		}
	}()
	t.Cleanup(func() { close(done) })
}

type row struct {
	uuid     string
	n        uint64
	token    uint64
	expiry   time.Duration
	span     time.Duration
	released bool
}

func (r *row) version() version { return version{r.uuid, r.n} }

type sent struct {
	what string
	body request
	at   time.Duration
	auth string
}

// fake is an honest store, and a server that behaves as a test plans.
type fake struct {
	*httptest.Server
	clock func() time.Duration

	// observed: no clock of the store decides that a lease has ended.
	observed bool

	mutex    sync.Mutex
	rows     map[string]*row
	requests []sent
	planned  map[string][]fault
	usual    fault
}

type fault func(f *fake, w http.ResponseWriter, s sent)

func newFake(t *testing.T, clock func() time.Duration) *fake {
	f := &fake{clock: clock, rows: map[string]*row{}, planned: map[string][]fault{}, usual: honest}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body request
	strict := json.NewDecoder(r.Body)
	strict.DisallowUnknownFields()
	if err := strict.Decode(&body); err != nil {
		panic(err)
	}
	s := sent{strings.TrimPrefix(r.URL.Path, "/v1/default/leases/"), body, f.clock(), r.Header.Get("Authorization")}
	f.mutex.Lock()
	f.requests = append(f.requests, s)
	do := f.usual
	if planned := f.planned[s.what]; len(planned) > 0 {
		do, f.planned[s.what] = planned[0], planned[1:]
	}
	f.mutex.Unlock()
	do(f, w, s)
}

func (f *fake) plan(what string, faults ...fault) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.planned[what] = append(f.planned[what], faults...)
}

func (f *fake) always(usual fault) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.usual = usual
}

func (f *fake) sent(what string) (found []sent) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	for _, s := range f.requests {
		if s.what == what {
			found = append(found, s)
		}
	}
	return found
}

func (f *fake) do(s sent) (int, string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	row, now := f.rows[s.body.Name], f.clock()
	held := row != nil && !row.released && (f.observed || now < row.expiry)
	claimed := held && s.body.Prev != nil && *s.body.Prev == row.version()
	own := row != nil && row.uuid == s.body.UUID
	switch {
	case s.what == "acquire" && own && held:
		return 200, fmt.Sprintf(`{"token": %d, "waited_ms": 0}`, row.token)
	case s.what == "acquire" && own:
		return 409, `{"code": "spent"}`
	case s.what == "acquire" && held && !claimed:
		return 409, fmt.Sprintf(`{"code": "held", "record": {"owner": "another", "uuid": %q, "renewals": %d,
			"duration_ms": %d}}`, row.uuid, row.n, row.span.Milliseconds())
	case s.what == "acquire":
		token, span := uint64(1), time.Duration(s.body.Duration)*time.Millisecond
		if row != nil {
			token = row.token + 1
		}
		f.rows[s.body.Name] = newRow(s.body.UUID, token, now+span, span)
		return 200, fmt.Sprintf(`{"token": %d, "waited_ms": 0}`, token)
	case s.what == "renew" && own && held:
		if row.n < s.body.N {
			row.n, row.expiry = s.body.N, now+row.span
		}
		return 200, `{"asked": false}`
	case s.what == "renew":
		return 409, `{"code": "lost"}`
	case own:
		row.released = true
		return 200, `{}`
	}
	return 409, `{"code": "not-held"}`
}

func newRow(uuid string, token uint64, expiry, span time.Duration) *row {
	return &row{uuid: uuid, token: token, expiry: expiry, span: span}
}

func honest(f *fake, w http.ResponseWriter, s sent) { say(f.do(s))(f, w, s) }

// lose: done, but the connection breaks.
func lose(f *fake, w http.ResponseWriter, s sent) {
	f.do(s)
	panic(http.ErrAbortHandler)
}

// drop: not done, and the connection breaks.
func drop(*fake, http.ResponseWriter, sent) { panic(http.ErrAbortHandler) }

// drip: done, and an answer of one byte at a time that never ends.
func drip(f *fake, w http.ResponseWriter, s sent) {
	status, _ := f.do(s)
	w.WriteHeader(status)
	for {
		if _, err := w.Write([]byte(" ")); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		time.Sleep(5 * time.Millisecond)
	}
}

func say(status int, body string) fault {
	return func(_ *fake, w http.ResponseWriter, _ sent) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatalf("not within 20 s: %s", what)
}

func awaitLoss(t *testing.T, lease *Lease) {
	t.Helper()
	eventually(t, "the loss", func() bool { return lease.Context().Err() != nil })
}

func setUp(t *testing.T) (*fake, *Server, *manual) {
	clock := &manual{}
	f := newFake(t, clock.now)
	server, err := New(Config{URLs: []string{f.URL}, Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	server.clock = clock.now
	server.awake = func() time.Time { return time.Unix(0, 0).Add(clock.now()) }
	return f, server, clock
}

func take(t *testing.T, server *Server) *Lease {
	t.Helper()
	lease, err := server.TryAcquire(context.Background(), "a", d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lease.cancel(errReleased) })
	return lease
}

func TestBeliefCountsFromSentAndNotFromTheReply(t *testing.T) {
	f, server, clock := setUp(t)
	f.plan("acquire", func(f *fake, w http.ResponseWriter, s sent) {
		clock.advance(d / 10)
		honest(f, w, s)
	})
	if left := take(t, server).Remaining(); left != d*7/10 {
		t.Fatalf("%v left", left)
	}
}

func TestRepeatHasTheSameUUIDAndCountsFromTheFirstSent(t *testing.T) {
	f, server, clock := setUp(t)
	f.plan("acquire", func(f *fake, w http.ResponseWriter, s sent) {
		clock.advance(d / 10)
		clock.run(t, 0.2)
		lose(f, w, s)
	})
	lease := take(t, server)
	sent := f.sent("acquire")
	if sent[0].body.UUID != sent[len(sent)-1].body.UUID || len(sent) < 2 {
		t.Fatalf("%v", sent)
	}
	if lease.until != d*8/10 {
		t.Fatalf("until %v", lease.until)
	}
}

func TestEachTryAfterAnAnswerHasAUUIDOfItsOwn(t *testing.T) {
	f, server, clock := setUp(t)
	f.plan("acquire", say(409, `{"code": "held"}`), say(409, `{"code": "spent"}`))
	clock.run(t, 0.2)
	lease, err := server.Acquire(context.Background(), "a", d)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	seen := map[string]bool{}
	for _, s := range f.sent("acquire") {
		seen[s.body.UUID] = true
	}
	if len(seen) != 3 {
		t.Fatalf("%v", seen)
	}
}

func TestLieAboutTheWaitMovesTheBeliefNoFurtherThanTheAnswer(t *testing.T) {
	for _, waited := range []string{"9223372036854775807", "-5", "500"} {
		f, server, clock := setUp(t)
		f.plan("acquire", func(f *fake, w http.ResponseWriter, s sent) {
			clock.advance(d / 10)
			say(200, `{"token": 5, "waited_ms": `+waited+`}`)(f, w, s)
		})
		lease, err := server.Acquire(context.Background(), "a", d)
		if err != nil {
			t.Fatal(err)
		}
		if most := d/10 + d*8/10; lease.until > most || waited == "-5" && lease.until != d*8/10 {
			t.Fatalf("%s: until %v", waited, lease.until)
		}
		lease.cancel(errReleased)
	}
}

func TestGrantKnownTooLateIsGivenBack(t *testing.T) {
	f, server, clock := setUp(t)
	f.plan("acquire", lose, func(f *fake, w http.ResponseWriter, s sent) {
		honest(f, w, s)
		w.(http.Flusher).Flush()
		// The reply has arrived, and then the machine sleeps.
		clock.advance(2 * d)
	})
	clock.run(t, 0.2)
	lease, err := server.Acquire(context.Background(), "a", d)
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	first := f.sent("acquire")[0].body.UUID
	if lease.term == first || lease.Check() != nil {
		t.Fatal("the late grant was handed out")
	}
	eventually(t, "it is given back", func() bool {
		released := f.sent("release")
		return len(released) > 0 && released[0].body.UUID == first
	})
}

func TestRenewalCountsFromItsOwnSent(t *testing.T) {
	f, server, clock := setUp(t)
	f.plan("renew", func(f *fake, w http.ResponseWriter, s sent) {
		clock.advance(d / 10)
		honest(f, w, s)
	})
	lease := take(t, server)
	clock.advance(d / 3)
	eventually(t, "a renewal counts", func() bool { return lease.deadline() == d/3+d*8/10 })
}

func TestNoOtherAnswerThanLostIsLossAndNoneDelaysTheDeadline(t *testing.T) {
	for name, fault := range map[string]fault{
		"lost reply": lose, "dropped": drop, "drip": drip, "500": say(500, "oops"), "fatal": say(500, `{"code": "fatal"}`),
		"503": say(503, `{"code": "not-applied"}`), "504": say(504, `{"code": "unknown"}`),
		"401": say(401, `{"code": "unauthenticated"}`), "409 for nothing": say(409, `{}`),
		"409 of another request": say(409, `{"code": "held"}`), "lost with another status": say(410, `{"code": "lost"}`),
		"garbage": say(200, `{"asked": `), "no success": say(200, `{}`), "redirect": say(307, ""),
		"huge": say(200, `{"asked": false, "x": "`+strings.Repeat("x", mostBytes)+`"}`),
	} {
		t.Run(name, func(t *testing.T) {
			f, server, clock := setUp(t)
			lease := take(t, server)
			f.always(fault)
			clock.advance(d / 3)
			eventually(t, "a renewal", func() bool { return len(f.sent("renew")) > 0 })
			clock.advance(d*8/10 - d/3 - time.Millisecond)
			time.Sleep(20 * time.Millisecond)
			if err := lease.Check(); err != nil || lease.Context().Err() != nil {
				t.Fatal("lost too early", err)
			}
			clock.advance(time.Millisecond)
			awaitLoss(t, lease)
			if !errors.Is(context.Cause(lease.Context()), ErrLost) || lease.deadline() != d*8/10 {
				t.Fatal(context.Cause(lease.Context()), lease.deadline())
			}
		})
	}
}

func TestLostIsLossAtOnce(t *testing.T) {
	f, server, clock := setUp(t)
	lease := take(t, server)
	f.mutex.Lock()
	f.rows["a"].uuid = "another"
	f.mutex.Unlock()
	clock.advance(d / 3)
	awaitLoss(t, lease)
	if err := lease.Release(); !errors.Is(err, ErrLost) || len(f.sent("release")) > 0 {
		t.Fatal(err)
	}
}

func TestReleaseIsRepeatedAndTheLeaseIsInvalidByThen(t *testing.T) {
	f, server, clock := setUp(t)
	lease := take(t, server)
	valid := make(chan error, 1)
	f.plan("release", func(f *fake, w http.ResponseWriter, s sent) {
		valid <- lease.Check()
		lose(f, w, s)
	}, say(409, `{"code": "not-held"}`))
	clock.run(t, 0.1)
	if err := lease.Release(); err != nil {
		t.Fatal("somebody else was quick, which is no loss:", err)
	}
	if <-valid == nil {
		t.Fatal("valid while it is given back")
	}
	if sent := f.sent("release"); len(sent) != 2 || sent[0].body.UUID != lease.term {
		t.Fatal(sent)
	}
}

func TestWithGivesBackAfterAPanic(t *testing.T) {
	f, server, _ := setUp(t)
	recovered := func() (value any) {
		defer func() { value = recover() }()
		return server.With(context.Background(), "a", d, func(context.Context, *Lease) error { panic("of the work") })
	}()
	if recovered != "of the work" || len(f.sent("release")) != 1 {
		t.Fatal(recovered, f.sent("release"))
	}
	take(t, server)
}

func TestPanicWaitsForNoServerThatIsSilent(t *testing.T) {
	f, server, clock := setUp(t)
	f.plan("release", drip)
	recovered := make(chan any)
	go func() {
		defer func() { recovered <- recover() }()
		server.With(context.Background(), "a", d, func(context.Context, *Lease) error { panic("of the work") })
	}()
	select {
	case value := <-recovered:
		if value != "of the work" {
			t.Fatal(value)
		}
	case <-time.After(20 * time.Second):
		t.Error("the panic waits")
	}
	// The release is repeated in the background.
	eventually(t, "the release", func() bool {
		clock.advance(d / 1000)
		return len(f.sent("release")) == 2
	})
}

func TestWithReturnsTheErrorOfTheWorkAndTheLoss(t *testing.T) {
	f, server, clock := setUp(t)
	failed := errors.New("of the work")
	err := server.With(context.Background(), "a", d, func(ctx context.Context, lease *Lease) error {
		if err := errors.Join(lease.Check(), ctx.Err()); err != nil || lease.Token != 1 {
			t.Error(err, lease.Token)
		}
		clock.advance(d)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), ErrLost) {
			t.Error(context.Cause(ctx))
		}
		return failed
	})
	if !errors.Is(err, failed) || !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
	f.plan("acquire", say(403, `{"code": "forbidden"}`))
	err = server.With(context.Background(), "a", d, func(context.Context, *Lease) error {
		t.Error("without a lease")
		return nil
	})
	if !errors.Is(err, ErrRefused) {
		t.Fatal(err)
	}
}

func TestWithPassesACancellationOn(t *testing.T) {
	f, server, _ := setUp(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped")
	err := server.With(ctx, "a", d, func(ctx context.Context, lease *Lease) error {
		cancel(stopped)
		<-ctx.Done()
		return errors.Join(context.Cause(ctx), lease.Check())
	})
	if !errors.Is(err, stopped) || errors.Is(err, ErrLost) || len(f.sent("release")) != 1 {
		t.Fatal(err)
	}
}

func TestNameThatIsNotUTF8IsRefused(t *testing.T) {
	f, server, _ := setUp(t)
	for _, name := range []string{"\xff", "a\xc3", "\xed\xa0\x80"} {
		if _, err := server.TryAcquire(context.Background(), name, d); err == nil || !strings.Contains(err.Error(), "UTF-8") {
			t.Fatal(err)
		}
	}
	if len(f.sent("acquire")) > 0 {
		t.Fatal("sent")
	}
}

func TestLossNamesItsCause(t *testing.T) {
	for cause, fault := range map[string]fault{
		`for 800ms: no answer in time`: drip, `for 800ms: overloaded (503) "busy"`: say(503, `{"code": "overloaded", "detail": "busy"}`),
		"for 800ms: an answer that came too late, or makes no sense": say(200, `{}`),
		"the server says that it has ended":                          say(409, `{"code": "lost"}`),
	} {
		f, server, clock := setUp(t)
		lease := take(t, server)
		f.always(fault)
		clock.advance(d / 3)
		eventually(t, "a renewal", func() bool { return len(f.sent("renew")) > 0 })
		passed := d / 3
		// Only this attempt has to end by the clock: an answer that is read later would be no answer in time.
		if strings.Contains(cause, "no answer") {
			clock.advance(d / 6)
			passed += d / 6
		}
		eventually(t, "a failure", func() bool {
			lease.mutex.Lock()
			defer lease.mutex.Unlock()
			return lease.failure != ""
		})
		clock.advance(d*8/10 - passed)
		awaitLoss(t, lease)
		if err := lease.Check(); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), cause) {
			t.Error(cause, err)
		}
	}
}

func TestLossNamesAServerThatIsGone(t *testing.T) {
	f, server, clock := setUp(t)
	lease := take(t, server)
	f.Close()
	clock.run(t, 0.2)
	awaitLoss(t, lease)
	if err := lease.Check(); !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "Post") {
		t.Fatal(err)
	}
}

func TestReleaseOfWhatAnotherHasIsLoss(t *testing.T) {
	f, server, _ := setUp(t)
	lease := take(t, server)
	f.plan("release", say(409, `{"code": "not-held"}`))
	if err := lease.Release(); !errors.Is(err, ErrLost) {
		t.Fatal(err)
	}
}

func TestCancelledAcquireGivesBack(t *testing.T) {
	f, server, _ := setUp(t)
	ctx, cancel := context.WithCancel(context.Background())
	f.plan("acquire", func(f *fake, w http.ResponseWriter, s sent) {
		f.do(s)
		cancel()
		drip(f, w, s)
	})
	if _, err := server.Acquire(ctx, "a", d); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	eventually(t, "it is given back", func() bool { return len(f.sent("release")) > 0 })
}

func TestErrorsSayWhyAndNoToken(t *testing.T) {
	f, server, clock := setUp(t)
	take(t, server)
	var held *HeldError
	if _, err := server.TryAcquire(context.Background(), "a", d); !errors.As(err, &held) || held.Record.Owner != "another" {
		t.Fatal(err)
	}
	f.plan("acquire", func(f *fake, w http.ResponseWriter, s sent) {
		say(403, fmt.Sprintf(`{"code": "forbidden", "detail": %q}`, s.auth))(f, w, s)
	})
	_, err := server.TryAcquire(context.Background(), "a", d)
	if !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), secret) {
		t.Fatal(err)
	}
	f.always(drop)
	clock.run(t, 2)
	if _, err := server.TryAcquire(context.Background(), "a", d); !errors.Is(err, ErrUnreachable) {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %+v %#v", server, server, server); strings.Contains(text, secret) {
		t.Fatal(text)
	}
}

func TestTokenGoesOverPlainHTTPToThisMachineAloneAndRedirectsAreNotFollowed(t *testing.T) {
	for _, url := range []string{"http://example.com", "http://10.0.0.1:7420", "http://localhost.example.com"} {
		if _, err := New(Config{URLs: []string{url}, Token: secret}); err == nil {
			t.Fatal(url)
		}
		if _, err := New(Config{URLs: []string{url}, Token: secret, Insecure: true}); err != nil {
			t.Fatal(url, err)
		}
	}
	f, server, clock := setUp(t)
	trap := newFake(t, clock.now)
	f.always(func(_ *fake, w http.ResponseWriter, _ sent) {
		w.Header().Set("Location", trap.URL+"/v1/default/leases/acquire")
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	clock.run(t, 2)
	if _, err := server.TryAcquire(context.Background(), "a", d); !errors.Is(err, ErrUnreachable) {
		t.Fatal(err)
	}
	if len(trap.sent("acquire")) > 0 {
		t.Fatal("followed")
	}
}

func TestDeadHolderIsFoundOutWhereNoClockOfTheStoreDoesIt(t *testing.T) {
	f, server, clock := setUp(t)
	f.observed = true
	dead := take(t, server)
	dead.cancel(errReleased)
	try := func() error {
		lease, err := server.TryAcquire(context.Background(), "a", d)
		if err == nil {
			lease.cancel(errReleased)
		}
		return err
	}
	var held *HeldError
	for range [2]int{} {
		if err := try(); !errors.As(err, &held) {
			t.Fatal(err)
		}
		clock.advance(d - time.Millisecond)
	}
	// It has renewed: the observation begins anew.
	f.mutex.Lock()
	f.rows["a"].n = 1
	f.mutex.Unlock()
	clock.advance(10 * time.Millisecond)
	for range [2]int{} {
		if err := try(); !errors.As(err, &held) {
			t.Fatal(err)
		}
		clock.advance(d / 2)
	}
	clock.run(t, 1)
	if err := try(); err != nil {
		t.Fatal(err)
	}
}

func TestRepeatsGoToTheNextServer(t *testing.T) {
	f, _, clock := setUp(t)
	f.always(drop)
	next := newFake(t, clock.now)
	server, err := New(Config{URLs: []string{f.URL, next.URL}})
	if err != nil {
		t.Fatal(err)
	}
	server.clock = clock.now
	clock.run(t, 0.2)
	take(t, server)
	if f.sent("acquire")[0].body.UUID != next.sent("acquire")[0].body.UUID {
		t.Fatal("another uuid")
	}
}

// In real time: several clients, and faults of all kinds.
func TestNeverTwoValidLeasesWhateverIsLostOrDoubled(t *testing.T) {
	start := time.Now()
	f := newFake(t, func() time.Duration { return time.Since(start) })
	faults := []fault{honest, honest, honest, lose, drop, func(f *fake, w http.ResponseWriter, s sent) {
		f.do(s)
		honest(f, w, s)
	}, func(f *fake, w http.ResponseWriter, s sent) {
		time.Sleep(time.Duration(rand.Int63n(int64(d / 5))))
		status, body := f.do(s)
		time.Sleep(time.Duration(rand.Int63n(int64(d / 2))))
		say(status, body)(f, w, s)
	}}
	// Half of the leases are never renewed.
	isCut := func(term string) bool { return term[0] < '8' }
	f.always(func(f *fake, w http.ResponseWriter, s sent) {
		if s.what == "renew" && isCut(s.body.UUID) {
			drop(f, w, s)
		}
		faults[rand.Intn(len(faults))](f, w, s)
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var current [6]atomic.Pointer[Lease]
	var grants atomic.Int64
	var workers sync.WaitGroup
	for i := range current {
		server, err := New(Config{URLs: []string{f.URL}})
		if err != nil {
			t.Fatal(err)
		}
		workers.Add(1)
		go func(i int) {
			defer workers.Done()
			for ctx.Err() == nil {
				lease, err := server.Acquire(ctx, fmt.Sprint(i%2), d)
				if err != nil {
					continue
				}
				current[i].Store(lease)
				grants.Add(1)
				hold := d / 10
				if isCut(lease.term) {
					hold = 2 * d
				}
				select {
				case <-lease.Context().Done():
				case <-time.After(hold):
				}
				_ = lease.Release()
			}
		}(i)
	}
	end := time.Now().Add(5 * time.Minute)
	for grants.Load() < 24 && time.Now().Before(end) {
		for i := range current {
			for j := range current {
				one, two := current[i].Load(), current[j].Load()
				// The first was valid before and after: so it was in between, when the second was asked.
				if i%2 == j%2 && i != j && one != nil && two != nil && one.Check() == nil && two.Check() == nil && one.Check() == nil {
					t.Fatalf("tokens %d and %d are valid at once", one.Token, two.Token)
				}
			}
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	workers.Wait()
	if grants.Load() < 24 {
		t.Fatalf("only %d grants", grants.Load())
	}
}

func TestClockGoesOn(t *testing.T) {
	first := systemClock()
	time.Sleep(10 * time.Millisecond)
	if passed := systemClock() - first; passed < 9*time.Millisecond {
		t.Fatal(passed)
	}
}
