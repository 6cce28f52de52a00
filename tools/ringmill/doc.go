// Command ringmill is the node and its command line in one binary.
//
//	ringmill serve                      run a node
//	ringmill topic | group | config |   see and change a cluster, through Kafka's admin API
//	  quota | txn | log-dirs | features
//	ringmill produce | consume          move records between pipes and topics
//	ringmill dump                       read segment files
//	ringmill bench                      measure a node or cluster
//
// Everything but serve and dump is a Kafka client and works with any node that speaks Kafka's protocol.
//
// # What every command keeps to
//
//   - Results go to standard output, in words for people or, with -o json, as JSON for programs; everything else goes to
//     standard error.
//   - Exit status 0: done. 1: it failed. 2: the command line or the configuration is wrong, and nothing was done.
//     3: a benchmark whose figures are not to be believed.
//   - Nothing ever asks a question, with a terminal or without: what a command does is in its arguments alone.
//   - An error is one line that begins with "ringmill:".
//   - A node that does not answer is given up after --timeout.
//
// # Files
//
//	main.go, root.go      process, root command, exit status
//	output.go             text tables and JSON
//	flagvalues.go         what flags take, and sizes with units
//	idleflags.go          flags that do nothing without others
//	client.go             the Kafka client of all commands that are one
//	lastlines.go          what a process that was started said last
//	outage.go             what a node that does not answer is told as
//	hidden.go             what an authorizer keeps from who asks
//	partitions.go         topics with partitions, as --topic takes them
//	topic*.go group*.go config*.go quota*.go txn*.go logdirs.go features.go produce.go consume*.go dump.go bench*.go serve.go version.go
//	complete.go           what shells offer for arguments and flags
package main
