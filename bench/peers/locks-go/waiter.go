// Waiters on one lock, as in `src/contend.rs`.
package main

import (
	"context"
	"log"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Waits for a lock, until its context ends.
type lock func(context.Context) (release, error)

// Gives it back, and returns when the store has it.
type release func(context.Context) error

// How long waiters may go on waiting after the end.
const grace = 300 * time.Millisecond

type plan struct {
	Begin   int64 `json:"begin"`
	End     int64 `json:"end"`
	Section struct {
		Secs  int64 `json:"secs"`
		Nanos int64 `json:"nanos"`
	} `json:"section"`
}

type turn struct {
	Asked     int64 `json:"asked"`
	Granted   int64 `json:"granted"`
	Releasing int64 `json:"releasing"`
	Released  int64 `json:"released"`
}

type waiter struct {
	Turns    []turn    `json:"turns"`
	Unserved *[2]int64 `json:"unserved"`
}

var (
	// Go's own clock counts the same time, from a zero of its own.
	start = time.Now()
	zero  = monotonic()
)

func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		log.Fatal(err)
	}
	return ts.Nano()
}

func now() int64 { return zero + time.Since(start).Nanoseconds() }

func waitInTurns(acquire lock, plan plan) (waiter, error) {
	waited := waiter{Turns: []turn{}}
	section := time.Duration(plan.Section.Secs)*time.Second + time.Duration(plan.Section.Nanos)
	time.Sleep(time.Duration(plan.Begin - now()))
	for {
		asked := now()
		if asked >= plan.End {
			return waited, nil
		}
		patience := time.Duration(plan.End-asked) + grace
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		release, err := acquire(ctx)
		ended := ctx.Err() != nil
		cancel()
		if err != nil && ended {
			waited.Unserved = &[2]int64{asked, now()}
			return waited, nil
		}
		if err != nil {
			return waited, err
		}
		granted := now()
		if section == 0 || granted >= plan.End {
			runtime.Gosched()
		} else {
			time.Sleep(section)
		}
		releasing := now()
		if err := release(context.Background()); err != nil {
			return waited, err
		}
		waited.Turns = append(waited.Turns, turn{asked, granted, releasing, now()})
	}
}
