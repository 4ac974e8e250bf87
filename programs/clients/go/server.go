// Package dlock takes locks of a dlock server: leases over HTTP, with fencing tokens.
//
//	server, err := dlock.New(dlock.Config{URLs: []string{"http://127.0.0.1:7420"}})
//	err = server.With(ctx, "nightly", 30*time.Second, func(ctx context.Context, lease *dlock.Lease) error {
//		return work(ctx, lease.Token)
//	})
//
// A lease ends automatically when it was not renewed for its duration, so a holder that dies blocks others for no
// longer. A goroutine renews it. The client believes in its lease for 0.8 of the duration, counted from before it sent
// the request; at that time without a renewal, or when the server says that the lease has ended, [Lease.Context] is
// cancelled, whatever the network does.
//
// With an honest server at most one client has a valid lease at any time. A server that lies can grant a lease to two.
// And any amount of time may pass between [Lease.Check] and the arrival of a write, for instance if the machine is
// paused: only a storage that refuses tokens lower than the highest it has seen is safe from that.
package dlock

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrLost says that the lease was lost: stop what it protects.
	ErrLost = errors.New("dlock: the lease is lost")
	// ErrUnreachable says that no server has answered. If there is a lease it ends automatically.
	ErrUnreachable = errors.New("dlock: no server has answered")
	// ErrRefused says that the server refuses the request, and would refuse it again.
	ErrRefused = errors.New("dlock: refused")
)

// HeldError says that another client has the lease.
type HeldError struct {
	// Record is what the server shows of that lease, for people.
	Record Record
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("dlock: held by %.100q", e.Record.Owner)
}

// Record is what a server shows of a lease, for people: it decides nothing.
type Record struct {
	Owner    string `json:"owner"`
	Since    string `json:"since"`
	Token    uint64 `json:"token"`
	Duration int64  `json:"duration_ms"`
	version
}

// version is the state of a lease that contenders observe.
type version struct {
	UUID     string `json:"uuid"`
	Renewals uint64 `json:"renewals"`
}

// observation is a version, and when it was seen first.
type observation struct {
	version
	since time.Time
}

// Config has the servers, and the identity of the client.
type Config struct {
	// URLs are those of servers of one store, tried in turn: a request that one does not answer is repeated at the next.
	URLs []string
	// Namespace is "default" if it is empty.
	Namespace string
	// Token is a bearer token, sent over plain HTTP only to this machine unless Insecure is set. Redirects are not
	// followed, and no proxy is used.
	Token    string
	Insecure bool
	// TLS replaces the default configuration, for a private authority or a client certificate.
	TLS *tls.Config
}

// Server is one or more servers of one store. Goroutines may share it.
type Server struct {
	urls      []*url.URL
	namespace string
	token     string
	client    *http.Client
	clock     func() time.Duration
	// awake is a contender's clock: it stops while a machine sleeps, so that it never counts too much.
	awake func() time.Time
	turn  atomic.Uint32
	mutex sync.Mutex
	seen  map[string]observation
}

// New checks a configuration. Nothing is sent.
func New(config Config) (*Server, error) {
	namespace := config.Namespace
	if namespace == "" {
		namespace = "default"
	}
	if !regexp.MustCompile(`^[a-z0-9-]{1,63}$`).MatchString(namespace) {
		return nil, errors.New("dlock: a namespace is 1 to 63 of a-z, 0-9 and -")
	}
	if !regexp.MustCompile(`^[!-~]*$`).MatchString(config.Token) {
		return nil, errors.New("dlock: a token is ASCII without spaces")
	}
	if len(config.URLs) == 0 {
		return nil, errors.New("dlock: at least one URL is needed")
	}
	server := &Server{
		namespace: namespace, token: config.Token,
		clock: systemClock, awake: time.Now, seen: map[string]observation{},
	}
	for _, text := range config.URLs {
		parsed, err := url.Parse(text)
		// The text is not repeated: it may contain a password.
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" ||
			parsed.User != nil || parsed.RawQuery != "" || parsed.Fragment != "" {
			return nil, errors.New("dlock: a URL is http://HOST:PORT or https://HOST:PORT, perhaps with a path")
		}
		if config.Token != "" && parsed.Scheme == "http" && !isLoopback(parsed.Hostname()) && !config.Insecure {
			return nil, errors.New("dlock: a token over plain HTTP can be read in transit: use https, or Insecure")
		}
		server.urls = append(server.urls, parsed)
	}
	server.client = &http.Client{
		// A connection for each request: one that was given up cannot spoil the next.
		Transport:     &http.Transport{DisableKeepAlives: true, TLSClientConfig: config.TLS, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return server, nil
}

// String shows no token.
func (s *Server) String() string {
	return fmt.Sprintf("dlock servers %v, namespace %s", s.urls, s.namespace)
}

// GoString shows no token either.
func (s *Server) GoString() string { return s.String() }

func isLoopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// request is the body of any request: each has some of these.
type request struct {
	Name     string   `json:"name"`
	UUID     string   `json:"uuid"`
	Duration int64    `json:"duration_ms,omitempty"`
	Prev     *version `json:"prev,omitempty"`
	Owner    string   `json:"owner,omitempty"`
	Wait     int64    `json:"wait_ms,omitempty"`
	N        uint64   `json:"n,omitempty"`
	Token    uint64   `json:"token,omitempty"`
}

// answer is the body of any answer.
type answer struct {
	Token  *uint64 `json:"token"`
	Waited int64   `json:"waited_ms"`
	Asked  *bool   `json:"asked"`
	Code   string  `json:"code"`
	Detail string  `json:"detail"`
	Record Record  `json:"record"`
}

// reply is the result of a request.
type reply struct {
	// code is "ok", the code of a problem, or "refused" if a repeat cannot help; empty if there was no answer.
	code string
	body answer
	// maybe: the server may have done it, although no answer says so.
	maybe bool
	why   string
	after time.Duration
	at    time.Duration
}

// The codes of a server, each with its status. Anything else is not the answer of a dlock server.
var codes = map[string]int{
	"held": 409, "spent": 409, "lost": 409, "not-held": 409,
	"bad-request": 400, "unauthenticated": 401, "forbidden": 403, "not-found": 404, "method-not-allowed": 405,
	"too-slow": 408, "too-large": 413, "not-json": 415, "misdirected": 421, "too-many": 429, "fatal": 500,
	"overloaded": 503, "stopping": 503, "not-applied": 503, "unknown": 504,
}

// The refusals that each request can have.
var conflicts = map[string]string{"acquire": "held spent", "renew": "lost", "release": "not-held"}

const mostBytes = 1 << 20

// call sends a request once, and gives it up when the clock says so: a timer, and a deadline of a context, stop while
// a machine sleeps.
func (s *Server) call(ctx context.Context, what string, body request, until, span time.Duration) reply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	turn := s.turn.Load()
	answered := make(chan reply, 1)
	go func() { answered <- s.exchange(ctx, s.urls[int(turn)%len(s.urls)], what, body) }()
	for {
		left := until - s.clock()
		if left <= 0 {
			s.turn.CompareAndSwap(turn, turn+1)
			return reply{maybe: true, why: "no answer in time"}
		}
		timer := time.NewTimer(min(left, span/10, time.Second))
		select {
		case reply := <-answered:
			timer.Stop()
			if reply.code == "" {
				s.turn.CompareAndSwap(turn, turn+1)
			}
			return reply
		case <-timer.C:
		}
	}
}

func (s *Server) exchange(ctx context.Context, to *url.URL, what string, body request) reply {
	text, err := json.Marshal(body)
	if err != nil {
		return reply{why: err.Error()}
	}
	target := to.JoinPath("v1", s.namespace, "leases", what).String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(text))
	if err != nil {
		return reply{why: err.Error()}
	}
	request.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		var failed *net.OpError
		maybe := !errors.As(err, &failed) || failed.Op != "dial"
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err // without the URL of the request
		}
		return reply{maybe: maybe, why: s.told(err.Error())}
	}
	defer response.Body.Close()
	read, err := io.ReadAll(io.LimitReader(response.Body, mostBytes+1))
	if err != nil {
		return reply{maybe: true, why: s.told(err.Error())}
	}
	understood := s.understood(what, response, read)
	understood.at = s.clock()
	return understood
}

// understood parses a response. One that no dlock server sends counts as no answer: the request may have been done.
func (s *Server) understood(what string, response *http.Response, body []byte) reply {
	status := response.StatusCode
	var said answer
	readable := len(body) <= mostBytes && json.Unmarshal(body, &said) == nil
	known := readable && codes[said.Code] == status
	why := fmt.Sprintf("status %d", status)
	if known {
		why = fmt.Sprintf("%s (%d) %s", said.Code, status, s.told(said.Detail))
	}
	switch {
	case status == http.StatusOK && readable:
		return reply{code: "ok", body: said}
	case known && contains(conflicts[what], said.Code):
		return reply{code: said.Code, body: said, why: why}
	case known && contains("too-slow too-many overloaded stopping not-applied", said.Code):
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return reply{why: why, after: time.Duration(min(max(seconds, 0), 30)) * time.Second}
	case known && said.Code == "fatal",
		status >= 400 && status < 500 && status != 408 && status != 409 && status != 425 && status != 429:
		return reply{code: "refused", why: why}
	}
	return reply{maybe: true, why: why}
}

// told is a text for people, without what a server should not repeat.
func (s *Server) told(text string) string {
	if s.token != "" {
		text = strings.ReplaceAll(text, s.token, "...")
	}
	return fmt.Sprintf("%.300q", text)
}

func contains(words, word string) bool {
	for _, other := range strings.Fields(words) {
		if word == other {
			return true
		}
	}
	return false
}

// sleep waits until the clock says so, or done is closed; it returns false in the latter case.
func (s *Server) sleep(done <-chan struct{}, until, span time.Duration) bool {
	for {
		left := until - s.clock()
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, span/10, time.Second))
		select {
		case <-done:
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// pause is how long to wait before a repeat.
func pause(span time.Duration) time.Duration {
	return time.Duration(float64(min(span/30, time.Second)) * (0.5 + rand.Float64()/2))
}
