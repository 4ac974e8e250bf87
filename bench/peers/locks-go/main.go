// Locks of Go, driven as a worker of the benchmark is (`src/worker.rs`): orders come as lines of JSON on the standard
// input, answers go the same way, and the program ends when its input does. Moments are nanoseconds on
// CLOCK_MONOTONIC, which all processes of one host share.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
)

// What to do; one of these is there.
type order struct {
	Open *struct {
		System string `json:"system"`
		Places places `json:"places"`
		Name   string `json:"name"`
	}
	Contend *plan
	Crowd   *struct {
		Plan  plan `json:"plan"`
		Tasks int  `json:"tasks"`
	}
	Acquire bool
	Release bool
}

type answer map[string]any

// What the worker has in its hands.
type work struct {
	locks   func(name string) lock
	lock    lock
	release release
}

func (w *work) obey(order order) (any, error) {
	ctx := context.Background()
	switch {
	case order.Open != nil:
		if w.locks == nil {
			locks, err := connect(order.Open.System, order.Open.Places)
			if err != nil {
				return nil, err
			}
			w.locks = locks
		}
		// Connected before anything is measured: a lock of its own name, taken once.
		release, err := w.locks(fmt.Sprintf("warm-%d", os.Getpid()))(ctx)
		if err != nil {
			return nil, err
		}
		w.lock = w.locks(order.Open.Name)
		return "Ready", release(ctx)
	case order.Contend != nil:
		waited, err := waitInTurns(w.lock, *order.Contend)
		return answer{"Waited": answer{"waiter": waited, "requests": 0}}, err
	case order.Crowd != nil:
		waiters := make([]waiter, order.Crowd.Tasks)
		failures := make([]error, order.Crowd.Tasks)
		var crowd sync.WaitGroup
		for i := range waiters {
			crowd.Go(func() { waiters[i], failures[i] = waitInTurns(w.lock, order.Crowd.Plan) })
		}
		crowd.Wait()
		return answer{"Crowd": waiters}, errors.Join(failures...)
	case order.Acquire:
		release, err := w.lock(ctx)
		granted := now()
		w.release = release
		return answer{"Granted": granted}, err
	case order.Release:
		called := now()
		return answer{"Released": answer{"called": called}}, w.release(ctx)
	}
	return nil, errors.New("not an order")
}

// A name alone is an order, too.
func parse(line []byte) (order order, err error) {
	var name string
	if json.Unmarshal(line, &name) == nil {
		order.Acquire, order.Release = name == "Acquire", name == "Release"
		return order, nil
	}
	return order, json.Unmarshal(line, &order)
}

func main() {
	var work work
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		order, err := parse(lines.Bytes())
		var said any
		if err == nil {
			said, err = work.obey(order)
		}
		if err != nil {
			said = answer{"Failed": err.Error()}
		}
		if err := answers.Encode(said); err != nil {
			log.Fatal(err)
		}
	}
}
