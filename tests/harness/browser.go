package harness

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Browser is a headless Chromium (Debian's), spoken to in the DevTools protocol over pipes.
type Browser struct {
	process *process
	out     *os.File // requests, each with a NUL at its end

	mu      sync.Mutex
	next    int
	waiting map[int]chan devToolsMessage
	heard   map[string][]devToolsMessage // events by session
	changed chan struct{}                // closed and made anew with each event
}

type devToolsMessage struct {
	ID        int             `json:"id,omitempty"`
	Method    string          `json:"method,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// StartBrowser starts one, which ends with the test.
func StartBrowser(tb testing.TB) *Browser {
	tb.Helper()
	Apt(tb, "chromium-headless-shell", "chromium-headless-shell", "fonts-dejavu-core")
	dir := tb.TempDir()
	theirIn, out, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	// as root there is no sandbox to be had; what it opens are files of this test
	cmd := exec.Command("chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--remote-debugging-pipe", "--user-data-dir="+filepath.Join(dir, "profile"))
	cmd.Env = environment()
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as --remote-debugging-pipe wants them
	p, err := spawnCommand(filepath.Join(dir, "browser.log"), cmd)
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		tb.Fatal(err)
	}
	b := &Browser{process: p, out: out, waiting: map[int]chan devToolsMessage{}, heard: map[string][]devToolsMessage{}, changed: make(chan struct{})}
	go b.listen(in)
	tb.Cleanup(func() {
		out.Close() // it ends by itself then, and its processes with it
		select {
		case <-p.exited:
		case <-time.After(20 * time.Second):
			_ = p.signal(syscall.SIGKILL, 10*time.Second)
		}
		if said := tail(p.log, 20); tb.Failed() && said != "" {
			tb.Logf("the browser said:\n%s", said)
		}
	})
	return b
}

// listen hands on answers and keeps events until the browser has gone.
func (b *Browser) listen(in *os.File) {
	defer in.Close()
	reader := bufio.NewReader(in)
	for {
		text, err := reader.ReadBytes(0)
		if err != nil {
			return
		}
		var m devToolsMessage
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if m.ID != 0 {
			b.waiting[m.ID] <- m // has room for it
			delete(b.waiting, m.ID)
		} else {
			b.heard[m.SessionID] = append(b.heard[m.SessionID], m)
			close(b.changed)
			b.changed = make(chan struct{})
		}
		b.mu.Unlock()
	}
}

// browserPatience is how long a busy machine may take for one answer of a browser.
const browserPatience = 2 * time.Minute

// ask sends a command and fills in its result.
func (b *Browser) ask(tb testing.TB, session, method string, params, result any) {
	tb.Helper()
	encoded, err := json.Marshal(params)
	if err != nil {
		tb.Fatal(err)
	}
	answer := make(chan devToolsMessage, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.waiting[id] = answer
	b.mu.Unlock()
	text, err := json.Marshal(devToolsMessage{ID: id, Method: method, SessionID: session, Params: encoded})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := b.out.Write(append(text, 0)); err != nil {
		tb.Fatalf("%s: %v", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			tb.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				tb.Fatalf("%s: %v", method, err)
			}
		}
	case <-b.process.exited:
		tb.Fatalf("%s: the browser ended", method)
	case <-time.After(browserPatience):
		tb.Fatalf("%s: no answer within %v", method, browserPatience)
	}
}

// View is how a page is looked at.
type View struct {
	Width, Height int // of the window, in CSS pixels
	// Scheme is what the reader prefers: light or dark.
	Scheme string
}

// Page is a file that a browser shows.
type Page struct {
	browser *Browser
	session string
}

// Open shows a file, and returns when it is loaded.
func (b *Browser) Open(tb testing.TB, file string, view View) *Page {
	tb.Helper()
	var target struct{ TargetID string }
	b.ask(tb, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.ask(tb, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	p := &Page{b, attached.SessionID}
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.ask(tb, domain+".enable", struct{}{}, nil)
	}
	p.ask(tb, "Emulation.setDeviceMetricsOverride", map[string]any{"width": view.Width, "height": view.Height, "deviceScaleFactor": 1, "mobile": view.Width < 600}, nil)
	p.ask(tb, "Emulation.setScrollbarsHidden", map[string]any{"hidden": true}, nil)
	p.ask(tb, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": view.Scheme}}}, nil)
	p.ask(tb, "Page.navigate", map[string]any{"url": "file://" + file}, nil)
	p.await(tb, "Page.loadEventFired")
	return p
}

func (p *Page) ask(tb testing.TB, method string, params, result any) {
	tb.Helper()
	p.browser.ask(tb, p.session, method, params, result)
}

// await returns when the page has told of an event.
func (p *Page) await(tb testing.TB, method string) {
	tb.Helper()
	deadline := time.After(browserPatience)
	for {
		p.browser.mu.Lock()
		changed := p.browser.changed
		p.browser.mu.Unlock()
		if len(p.events(method)) > 0 {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			tb.Fatalf("no %s within %v", method, browserPatience)
		}
	}
}

// events are those of some methods that the page has told of so far.
func (p *Page) events(methods ...string) (params []string) {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	for _, m := range p.browser.heard[p.session] {
		for _, method := range methods {
			if m.Method == method {
				params = append(params, string(m.Params))
			}
		}
	}
	return params
}

// Messages are what the console of the page has shown, errors of loading and of the page's policy among it.
func (p *Page) Messages() []string {
	return p.events("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
}

// Requests are the addresses that the page has asked for, itself among them.
func (p *Page) Requests(tb testing.TB) (addresses []string) {
	tb.Helper()
	for _, params := range p.events("Network.requestWillBeSent") {
		var sent struct{ Request struct{ URL string } }
		if err := json.Unmarshal([]byte(params), &sent); err != nil {
			tb.Fatal(err)
		}
		addresses = append(addresses, sent.Request.URL)
	}
	return addresses
}

// Eval fills in the value of a JavaScript expression.
func (p *Page) Eval(tb testing.TB, expression string, value any) {
	tb.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	p.ask(tb, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &got)
	if got.ExceptionDetails != nil {
		tb.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	if err := json.Unmarshal(got.Result.Value, value); err != nil {
		tb.Fatalf("%s gave %s: %v", expression, got.Result.Value, err)
	}
}

// Screenshot writes the whole page as a PNG.
func (p *Page) Screenshot(tb testing.TB, file string) {
	tb.Helper()
	var layout struct {
		CSSContentSize struct{ Width, Height float64 }
	}
	p.ask(tb, "Page.getLayoutMetrics", struct{}{}, &layout)
	var shot struct{ Data string }
	p.ask(tb, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": layout.CSSContentSize.Width, "height": layout.CSSContentSize.Height, "scale": 1}}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		tb.Fatal(fmt.Errorf("a screenshot: %w", err))
	}
	if err := os.WriteFile(file, picture, 0o644); err != nil {
		tb.Fatal(err)
	}
}
