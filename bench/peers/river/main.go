// River, driven as `src/tasks/driver.rs` says: setup | enqueue N | offer RATE SECONDS | work CONCURRENCY POOL, on the
// database of DATABASE_URL.
//
// Its pause between two fetches is the shortest that it allows: with the one that it has by default (100 ms) it can
// run no more than its concurrency ten times a second.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type noop struct {
	At int64 `json:"at"`
}

func (noop) Kind() string { return "noop" }

var (
	ran   atomic.Int64
	mutex sync.Mutex
	seen  [][2]int64
)

type worker struct {
	river.WorkerDefaults[noop]
}

func (*worker) Work(_ context.Context, job *river.Job[noop]) error {
	if at := job.Args.At; at > 0 {
		latency := time.Now().UnixMicro() - at
		mutex.Lock()
		seen = append(seen, [2]int64{at, latency})
		mutex.Unlock()
	}
	ran.Add(1)
	return nil
}

type client = river.Client[pgx.Tx]

func insert(ctx context.Context, c *client, tasks int, at int64) error {
	params := make([]river.InsertManyParams, tasks)
	for i := range params {
		params[i] = river.InsertManyParams{Args: noop{At: at}}
	}
	_, err := c.InsertManyFast(ctx, params)
	return err
}

// As `offer` in driver.rs: a call for each task, or a hundred calls a second of several tasks.
func offer(ctx context.Context, c *client, rate, seconds float64) error {
	together := max(rate/100, 1)
	every := together / rate
	begin := time.Now()
	var calls sync.WaitGroup
	var failed atomic.Value
	due, given := 0.0, 0
	for i := 0; i < int(seconds/every+0.5); i++ {
		time.Sleep(time.Until(begin.Add(time.Duration(float64(i) * every * 1e9))))
		due += together
		number := int(due) - given
		given += number
		calls.Add(1)
		go func() {
			defer calls.Done()
			if err := insert(ctx, c, number, time.Now().UnixMicro()); err != nil {
				failed.Store(err)
			}
		}()
	}
	calls.Wait()
	if err, ok := failed.Load().(error); ok {
		return err
	}
	return nil
}

func work(ctx context.Context, c *client) error {
	if err := c.Start(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	told := int64(0)
	for running := true; running; {
		select {
		case <-stop:
			running = false
		case <-ticker.C:
		}
		if now := ran.Load(); now > told {
			fmt.Println("ran", now)
			told = now
		}
	}
	if err := c.Stop(ctx); err != nil {
		return err
	}
	fmt.Println("ran", ran.Load())
	for _, pair := range seen {
		fmt.Println("seen", pair[0], pair[1])
	}
	return nil
}

func number(at int) float64 {
	if at >= len(os.Args) {
		log.Fatal("an argument is missing")
	}
	value, err := strconv.ParseFloat(os.Args[at], 64)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func run(ctx context.Context, verb string) error {
	config, err := pgxpool.ParseConfig(os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	config.MaxConns = 10
	if verb == "work" {
		config.MaxConns = int32(number(3))
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	driver := riverpgxv5.New(pool)
	if verb == "setup" {
		migrator, err := rivermigrate.New(driver, &rivermigrate.Config{
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		})
		if err != nil {
			return err
		}
		_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{})
	settings := &river.Config{
		Logger:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		FetchCooldown: time.Millisecond,
		Workers:       workers,
	}
	if verb == "work" {
		settings.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: int(number(2))}}
	}
	c, err := river.NewClient(driver, settings)
	if err != nil {
		return err
	}
	switch verb {
	case "enqueue":
		began := time.Now()
		for left := int(number(2)); left > 0; left -= 1000 {
			if err := insert(ctx, c, min(left, 1000), 0); err != nil {
				return err
			}
		}
		fmt.Println("took", time.Since(began).Microseconds())
		return nil
	case "offer":
		return offer(ctx, c, number(2), number(3))
	case "work":
		return work(ctx, c)
	}
	return fmt.Errorf("cannot %q", verb)
}

func main() {
	if len(os.Args) < 2 {
		log.Fatal("what to do?")
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}
