package node

import (
	"fmt"
	"net"
	"net/http"
	"time"
)

// admin is the HTTP listener for operators: metrics, health, and a status page.
type admin struct {
	node     *Node
	listener net.Listener
	server   *http.Server
}

// newAdmin serves on ln at once: /readyz answers 503 until the node is ready.
func newAdmin(n *Node, ln net.Listener) *admin {
	a := &admin{node: n, listener: ln}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", a.metrics)
	mux.HandleFunc("GET /livez", a.live)
	mux.HandleFunc("GET /readyz", a.ready)
	mux.HandleFunc("GET /{$}", a.status)
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	go func() { _ = a.server.Serve(ln) }()
	return a
}

func (a *admin) close() { _ = a.server.Close() }

func (a *admin) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	a.node.metrics.write(w)
}

// check is one line of a health report.
type check struct {
	name string
	ok   bool
	why  string
}

// live: every loop has turned within the last second and a half; an idle one turns twice a second.
func (a *admin) live(w http.ResponseWriter, r *http.Request) {
	var checks []check
	before := a.turns()
	deadline := time.Now().Add(3 * turnWaitMax)
	for {
		checks = checks[:0]
		for i, t := range a.turns() {
			checks = append(checks, check{fmt.Sprintf("loop-%d", i), t != before[i] || !a.node.ready.Load(), "has not turned"})
		}
		if allOK(checks) || time.Now().After(deadline) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	report(w, r, checks)
}

func (a *admin) turns() []uint64 {
	var turns []uint64
	for _, l := range a.node.loops {
		turns = append(turns, l.turns.Load())
	}
	return turns
}

func (a *admin) ready(w http.ResponseWriter, r *http.Request) {
	n := a.node
	checks := []check{
		{"logs-recovered", n.ready.Load(), "recovery or shutdown is under way"},
		n.groups.logs.check(), n.txns.logs.check(), n.shareLog.logs.check(),
	}
	if n.ready.Load() {
		for _, d := range n.dirs {
			checks = append(checks, check{"log-directory " + d.path, !d.offline.Load(), "offline after a storage fault"})
		}
	}
	report(w, r, checks)
}

func allOK(checks []check) bool {
	for _, c := range checks {
		if !c.ok {
			return false
		}
	}
	return true
}

// report writes "ok" or what fails, as Kubernetes' own endpoints do; ?verbose lists every check.
func report(w http.ResponseWriter, r *http.Request, checks []check) {
	ok := allOK(checks)
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	for _, c := range checks {
		switch {
		case !c.ok:
			fmt.Fprintf(w, "[-]%s failed: %s\n", c.name, c.why)
		case r.URL.Query().Has("verbose"):
			fmt.Fprintf(w, "[+]%s ok\n", c.name)
		}
	}
	if ok {
		fmt.Fprintln(w, "ok")
	}
}
