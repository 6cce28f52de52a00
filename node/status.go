package node

import (
	"html/template"
	"net/http"
	"time"
)

// statusPage is the page at /: what the node is and how it does, for a person with a browser and no tools.
var statusPage = template.Must(template.New("status").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>ringmill node {{.Node}}</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #8884}</style></head>
<body><h1>ringmill node {{.Node}}</h1>
<p>Cluster {{.Cluster}}, up {{.Up}}, {{if .Ready}}ready{{else}}not ready{{end}}. <a href="/metrics">metrics</a> · <a href="/readyz?verbose">readiness</a></p>
<table><tr><th>Version</th><td>{{.Version}}</td></tr>
<tr><th>Engine</th><td>{{.Engine}}</td></tr>
<tr><th>Flush policy</th><td>{{.Policy}}</td></tr>
<tr><th>Topics, partitions</th><td>{{.Topics}}, {{.Partitions}}</td></tr>
<tr><th>Connections</th><td>{{.Connections}}</td></tr>
<tr><th>Open segment files</th><td>{{.Files}}</td></tr></table>
<h2>Log directories</h2><table>{{range .Dirs}}<tr><td>{{.Path}}</td><td>{{.State}}</td></tr>{{end}}</table>
<h2>Loops</h2><table><tr><th>Loop</th><th>Turns</th></tr>{{range $i, $t := .Turns}}<tr><td>{{$i}}</td><td>{{$t}}</td></tr>{{end}}</table>
</body></html>
`))

type statusView struct {
	Node                           int32
	Version                        string
	Cluster, Engine, Policy        string
	Up                             time.Duration
	Ready                          bool
	Topics                         int
	Partitions, Connections, Files int64
	Dirs                           []statusDir
	Turns                          []uint64
}

type statusDir struct{ Path, State string }

func (a *admin) status(w http.ResponseWriter, _ *http.Request) {
	n := a.node
	v := statusView{
		Version: Version(), Node: int32(n.Config().NodeID), Up: time.Since(n.started).Round(time.Second), Ready: n.ready.Load(),
		Policy: string(n.Config().FlushPolicy()), Connections: n.metrics.connections.Load(), Files: n.openFiles.Load(), Turns: a.turns(),
	}
	if v.Ready {
		v.Cluster, v.Topics, v.Partitions = n.Image().ClusterID(), n.Image().TopicCount(), n.Image().PartitionCount()
		v.Engine = n.probes[0].String()
		for _, d := range n.dirs {
			state := d.kind + ", online"
			if d.offline.Load() {
				state = d.kind + ", offline after a storage fault"
			}
			v.Dirs = append(v.Dirs, statusDir{d.path, state})
		}
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = statusPage.Execute(w, v)
}
