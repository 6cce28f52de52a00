// Package omb reads OpenMessaging Benchmark's workload and driver files as they are, and writes results in its JSON.
//
//	workload.yaml ─▶ ReadWorkload ─▶ Workload.Settings ─┐
//	                                                    ├─▶ flags of ringmill bench run ─▶ bench.Trial ─▶ bench.Second ─▶ Periods ─▶ Result
//	driver.yaml ───▶ ReadDriver ───▶ Driver.Settings ───┘                                                                  (10 s)     (JSON)
//
// Whatever a file says is a flag of bench run, so that a result's command and configuration tell it in ringmill's own words, and a flag that is
// given on the command line counts in the file's place. What cannot be done is refused with an error that wraps ErrFile; what can be passed
// over without changing what is measured is told as a note, a line for people. Nothing is passed over silently.
//
// # What the figures mean
//
// OpenMessaging Benchmark counts publish latency from the sending of a message and tells apart, as publish delay, how late it was sent; bench's
// headline, the response, is both together. Result has the two in its own sense (bench.Figures' Service and Delay). Its end-to-end latency
// begins at a message's timestamp, in milliseconds of the wall clock; here it begins at the instant at which the record was due.
//
// The names of fields are those of OpenMessaging Benchmark's Workload.java, driver-kafka's Config.java and TestResult.java.
package omb
