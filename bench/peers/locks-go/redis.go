// The peers on Redis, one server.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// The lease that every system gets.
const lease = 15 * time.Second

// redislock tries once unless it is told otherwise: this is the pause of its first example that waits.
const pause = 100 * time.Millisecond

// Where the servers are.
type places struct {
	Redis uint16 `json:"redis"`
}

// The locks of a system, by name.
func connect(system string, places places) (func(name string) lock, error) {
	client := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", places.Redis)})
	switch system {
	case "redislock (Go)":
		locker := redislock.New(client)
		options := redislock.Options{RetryStrategy: redislock.LinearBackoff(pause)}
		return func(name string) lock {
			return func(ctx context.Context) (release, error) {
				held, err := locker.Obtain(ctx, name, lease, &options)
				if err != nil {
					return nil, err
				}
				return held.Release, nil
			}
		}, nil
	case "redsync (Go)":
		sync := redsync.New(goredis.NewPool(client))
		return func(name string) lock {
			return func(ctx context.Context) (release, error) {
				mutex := sync.NewMutex(name, redsync.WithExpiry(lease))
				if err := mutex.LockContext(ctx); err != nil {
					return nil, err
				}
				return func(ctx context.Context) error {
					released, err := mutex.UnlockContext(ctx)
					if err == nil && !released {
						err = errors.New("redsync: the lock was lost")
					}
					return err
				}, nil
			}
		}, nil
	}
	return nil, fmt.Errorf("there is no system %q", system)
}
