// Package quota decides how long a client that takes more than its quota must wait: the rules of Apache Kafka's client quotas
// (KIP-13, KIP-55, KIP-124, KIP-219, KIP-257, KIP-546, KIP-599, KIP-612) as state without a clock, a lock or a socket.
//
// It does not hold anybody up, and does not know what a request is: node says who took how much and when, and mutes the
// connection for as long as it is told. Values come from control/image, which keeps and judges them.
//
// The life of a request's bytes:
//
//	Limits.Of(client) ── nothing is set for it ──▶ no wait, nothing is remembered
//	    │ the limit, and the share: whose consumption counts against it
//	    ▼
//	Limiter.Record ── the share's Rate gets the value ── its average is within the limit ──▶ no wait
//	                                                 └── above ──▶ the time until it would be within
//
// # Whose limit
//
// The first of these that is set is the client's limit. Its consumption is shared by all who have the same key in the last column:
//
//	1  user, client id                       user and client id
//	2  user, default client id               user and client id
//	3  user                                  user
//	4  default user, client id               user and client id
//	5  default user, default client id       user and client id
//	6  default user                          user
//	7  client id                             client id
//	8  default client id                     client id
//
// An empty client id has no limit of those that speak of client ids, as in Kafka.
//
// # How much, and how long
//
// A Rate is the sum over quota.window.num windows of quota.window.size.seconds, the present one included, over the time that
// they cover. If it is O where T is allowed and covers W, the wait is (O-T)/T*W: so long must nothing come for the average to be
// T. What is covered counts as num-1 whole windows while it is less, so that a client's first seconds are a burst, and a wait
// may be followed by another: the average is right over several times the windows. A wait for bytes has no bound; one for
// request time or connections is one window at most.
//
// A bucket (controller mutations) fills with its rate up to what all windows would let through, and may be overdrawn once; the
// wait is until it is at zero.
//
// # Bounds
//
// What is remembered of clients is bounded, however many client ids there are: metersMax of them and metersBytesMax of names
// for each kind of quota. Beyond that the share that was used least recently is forgotten, and begins anew should it come back:
// somebody who invents client ids could do as much by inventing one more. Shares unused for an hour are forgotten too.
//
// All times are milliseconds of one monotonic clock. Everything here belongs to one goroutine at a time.
//
// Invariants:
//
//	Q1 at once     a changed limit is in force with the next Record; what was consumed before counts against it
//	Q2 no debt     a Record followed by a Note of the same value taken away leaves the average as it was
//	Q3 bounded     no history makes a meters hold more than metersMax shares or metersBytesMax bytes of names
package quota
