// Command example does a nightly job on one machine at a time.
//
//	go run ./example http://127.0.0.1:7420
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"example.com/dlock"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: example URL...")
	}
	if err := nightly(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func nightly(urls []string) error {
	server, err := dlock.New(dlock.Config{URLs: urls, Token: os.Getenv("DLOCK_TOKEN")})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	// The work ends first, the release comes last, even after a panic. Its error says that the work has outlived its
	// lease.
	return server.With(ctx, "nightly", 30*time.Second, func(ctx context.Context, lease *dlock.Lease) error {
		return work(ctx, lease.Token)
	})
}

// work stops when the lease has ended, and passes the token to the storage with each write.
func work(ctx context.Context, token uint64) error {
	for step := 1; step <= 3; step++ {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
			fmt.Printf("step %d with token %d\n", step, token)
		}
	}
	return nil
}
