package node

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestCoordinatorLogs: what is still read, and what cannot be, keeps a node from being ready, and both are told.
func TestCoordinatorLogs(t *testing.T) {
	logs := coordinatorLogs{kind: "group"}
	if c := logs.check(); !c.ok || c.name != "groups-loaded" {
		t.Errorf("nothing to read: %+v", c)
	}
	logs.begin(2)
	if c := logs.check(); c.ok || c.why != "the group coordinators still read 2 partitions" {
		t.Errorf("nothing read: %+v", c)
	}
	logs.end(nil)
	logs.end(errors.New("a bad disk"))
	if c := logs.check(); c.ok || c.why != "the group coordinators cannot read 1 partitions; the log says why" {
		t.Errorf("one failed: %+v", c)
	}
}

// TestReadyzTellsOfCoordinators: of each kind a line, and a node whose coordinator cannot be loaded is not ready.
func TestReadyzTellsOfCoordinators(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	await(t, "it is ready", func() bool { return tn.readyz().Code == http.StatusOK })
	for _, line := range []string{"[+]groups-loaded ok", "[+]transactions-loaded ok", "[+]share-groups-loaded ok"} {
		if page := tn.readyz().Body.String(); !strings.Contains(page, line) {
			t.Errorf("no %s in\n%s", line, page)
		}
	}
	tn.txns.logs.begin(1)
	tn.txns.logs.end(errors.New("a bad disk"))
	if got := tn.readyz(); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "[-]transactions-loaded failed: ") {
		t.Errorf("%d\n%s", got.Code, got.Body)
	}
}

// readyz asks the readiness page without a listener.
func (tn *testNode) readyz() *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	(&admin{node: tn.Node}).ready(w, httptest.NewRequest("GET", "/readyz?verbose", nil))
	return w
}

func TestStatusPageHasTheVersion(t *testing.T) {
	tn := startNode(t, nodeOptions{})
	w := httptest.NewRecorder()
	(&admin{node: tn.Node}).status(w, httptest.NewRequest("GET", "/", nil))
	if page := w.Body.String(); !strings.Contains(page, "<th>Version</th><td>"+Version()+"</td>") {
		t.Error(page)
	}
}
