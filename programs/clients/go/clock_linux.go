package dlock

import (
	"syscall"
	"time"
	"unsafe"
)

// systemClock is a clock that is never set or slewed, and that counts the time the machine was suspended. The clock
// of package time stops in a suspension.
func systemClock() time.Duration {
	const monotonic, raw, boot = 1, 4, 7
	// In this order a suspension between two readings makes the result at most as late as the last of them.
	elapsed := read(raw)
	awake := read(monotonic)
	return elapsed + max(0, read(boot)-awake)
}

func read(clock uintptr) time.Duration {
	var at syscall.Timespec
	if _, _, failed := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&at)), 0); failed != 0 {
		panic("dlock: this system has no clock that a lease can be measured by: " + failed.Error())
	}
	return time.Duration(at.Nano())
}
