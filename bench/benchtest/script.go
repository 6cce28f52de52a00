package benchtest

import "time"

// A Script says when the n-th batch of a server, counted from 0, is answered if it arrives at a time since the server's start.
type Script func(n int64, arrived time.Duration) (answered time.Duration)

// Constant takes the same time for every batch.
func Constant(delay time.Duration) Script {
	return func(_ int64, arrived time.Duration) time.Duration { return arrived + delay }
}

// Stalls takes stall for the last of every so many batches, and delay for the others.
func Stalls(every int64, stall, delay time.Duration) Script {
	return func(n int64, arrived time.Duration) time.Duration {
		if n%every == every-1 {
			return arrived + stall
		}
		return arrived + delay
	}
}

// Freeze answers after delay, but nothing between at and at+length.
func Freeze(at, length, delay time.Duration) Script {
	return func(_ int64, arrived time.Duration) time.Duration {
		if done := arrived + delay; done < at || done >= at+length {
			return done
		}
		return at + length
	}
}
