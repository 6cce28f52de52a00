// Package api answers requests: one file an API key, so that a listing of this folder is the coverage report. A file
// NN_name.go holds the key's row of the table of served versions and its handler.
//
// Handlers run in goroutines of their own, one a connection at most, and may wait. They see the node through Broker
// and speak kmsg's types; what they decide that needs a table test of its own lives below (control, segment). Produce
// and Fetch are served by the loops themselves, without kmsg; their files here hold what is checked and answered
// without a loop.
//
// A handler never fails: what is wrong with a request is an error code in its answer. Only bytes that are no request
// of the claimed version are an error, and cost the client its connection.
package api
