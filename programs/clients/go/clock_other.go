//go:build !linux

package dlock

import "time"

var start = time.Now()

// systemClock is a clock that is never set. It may stop while the machine sleeps.
func systemClock() time.Duration {
	return time.Since(start)
}
