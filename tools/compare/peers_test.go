package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ringmill/ringmill/bench"
)

func TestRedisReplies(t *testing.T) {
	text := func(s string) redisReply { return redisReply{text: []byte(s)} }
	list := func(items ...redisReply) redisReply { return redisReply{items: items} }
	for sent, want := range map[string]redisReply{
		"+PONG\r\n":         text("PONG"),
		":12\r\n":           {number: 12},
		"$5\r\na\r\nbc\r\n": text("a\r\nbc"),
		"$-1\r\n":           {},
		"*-1\r\n":           {},
		"*0\r\n":            {items: []redisReply{}},
		"*2\r\n$1\r\nk\r\n*1\r\n*2\r\n$3\r\n1-0\r\n*2\r\n$1\r\nv\r\n$0\r\n\r\n": list(text("k"), list(list(text("1-0"), list(text("v"), text(""))))),
	} {
		if got, err := readRedis(bufio.NewReader(strings.NewReader(sent)), 0); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", sent, got, err)
		}
	}
	if _, err := readRedis(bufio.NewReader(strings.NewReader("-ERR no\r\n")), 0); !errors.Is(err, errRedis) {
		t.Error(err)
	}
	for _, sent := range []string{"", "+PO", "?1\r\n", "$x\r\n", "$-2\r\n", "$3\r\nab", "*2\r\n:1\r\n", "$999999999999\r\n", "*9999999\r\n", "\r\n", strings.Repeat("*1\r\n", 20)} {
		if got, err := readRedis(bufio.NewReader(strings.NewReader(sent)), 0); err == nil || errors.Is(err, errRedis) {
			t.Errorf("%q: %+v, %v", sent, got, err)
		}
	}
}

func TestNATSMessages(t *testing.T) {
	mine, theirs := net.Pipe()
	defer theirs.Close()
	c := &natsConn{in: bufio.NewReader(strings.NewReader("INFO {\"a\":1}\r\n+OK\r\nPING\r\nMSG s 1 5\r\na\r\nbc\r\nMSG s 2 reply 0\r\n\r\nHMSG s 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\nHMSG s 1 r 12 14\r\nNATS/1.0\r\n\r\nxy\r\n-ERR 'no'\r\n")), out: newOutbox(mine)}
	defer c.close()
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(theirs).ReadString('\n')
		said <- line
	}()
	for i, want := range []natsMessage{{subject: "s", subscription: "1", payload: []byte("a\r\nbc")}, {subject: "s", subscription: "2", payload: []byte{}}, {subject: "s", subscription: "1", status: "503", payload: []byte{}}, {subject: "s", subscription: "1", payload: []byte("xy")}} {
		if got, err := c.read(); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("message %d: %+v, %v, want %+v", i, got, err, want)
		}
	}
	if _, err := c.read(); err == nil || !strings.Contains(err.Error(), "'no'") {
		t.Errorf("an error is %v", err)
	}
	if got := <-said; got != "PONG\r\n" {
		t.Errorf("a ping was answered with %q", got)
	}
	for _, m := range []natsMessage{{status: "503"}, {payload: []byte("{")}, {payload: []byte(`{"error":{"code":400,"description":"no"}}`)}} {
		if natsFault(m) == nil {
			t.Errorf("no fault in %+v", m)
		}
	}
	if err := natsFault(natsMessage{payload: []byte(`{"stream":"s","seq":1}`)}); err != nil {
		t.Error(err)
	}
}

// listen serves each connection by a function, until the test ends.
func listen(t *testing.T, serve func(in *bufio.Reader, out io.Writer)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(bufio.NewReader(c), c)
			}()
		}
	}()
	return l.Addr().String()
}

// sends gives two records to a stream's producer, and what became of each.
func sends(t *testing.T, s bench.Stream) (told []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	p, err := s.Producer(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	outcomes := make(chan string, 2)
	for i, value := range []string{"good", "bad"} {
		p.Send(ctx, int32(i), []byte(value), func(err error) { outcomes <- fmt.Sprintf("%s: %v", value, err) })
	}
	if err := p.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	return []string{<-outcomes, <-outcomes}
}

// Redis answers in order; what it refuses is told to whoever sent it, and what it had not answered when the connection ended is too.
func TestRedisProducer(t *testing.T) {
	var commands []string
	address := listen(t, func(in *bufio.Reader, out io.Writer) {
		for range 2 {
			r, err := readRedis(in, 0)
			if err != nil {
				return
			}
			words := []string{}
			for _, item := range r.items {
				words = append(words, string(item.text))
			}
			commands = append(commands, strings.Join(words, " "))
		}
		fmt.Fprint(out, "$3\r\n1-0\r\n-OOM no\r\n")
		_, _ = io.Copy(io.Discard, in)
	})
	if got, want := sends(t, &redisStream{address, "t", 2}), []string{"good: <nil>", "bad: redis: OOM no"}; !reflect.DeepEqual(got, want) {
		t.Errorf("told %q", got)
	}
	if want := []string{"XADD t-0 * v good", "XADD t-1 * v bad"}; !reflect.DeepEqual(commands, want) {
		t.Errorf("sent %q", commands)
	}
	gone := listen(t, func(in *bufio.Reader, _ io.Writer) { _, _ = readRedis(in, 0) })
	if got := sends(t, &redisStream{gone, "t", 2}); strings.Contains(strings.Join(got, ""), "nil") {
		t.Errorf("of a server that is gone: %q", got)
	}
}

func TestNATSProducer(t *testing.T) {
	address := listen(t, func(in *bufio.Reader, out io.Writer) {
		c := &natsConn{in: in}
		for answered := 0; answered < 2; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			fields := strings.Fields(line)
			if fields[0] != "PUB" {
				continue
			}
			m, err := c.message("MSG", []string{"MSG", fields[1], "1", fields[3]})
			if err != nil {
				return
			}
			answer := `{"stream":"t-0","seq":1}`
			if string(m.payload) == "bad" {
				answer = `{"error":{"code":503,"description":"no room"}}`
			}
			fmt.Fprintf(out, "MSG %s 1 %d\r\n%s\r\n", fields[2], len(answer), answer)
			answered++
		}
		_, _ = io.Copy(io.Discard, in)
	})
	if got, want := sends(t, &natsStream{address, "t", 2}), []string{"good: <nil>", "bad: nats: no room"}; !reflect.DeepEqual(got, want) {
		t.Errorf("told %q", got)
	}
}

func TestRedisConsumer(t *testing.T) {
	asked := make(chan string, 2)
	address := listen(t, func(in *bufio.Reader, out io.Writer) {
		for i := range 2 {
			r, err := readRedis(in, 0)
			if err != nil {
				return
			}
			var words []string
			for _, item := range r.items {
				words = append(words, string(item.text))
			}
			asked <- strings.Join(words, " ")
			fmt.Fprint(out, []string{"*1\r\n*2\r\n$3\r\nt-1\r\n*2\r\n*2\r\n$3\r\n5-0\r\n*2\r\n$1\r\nv\r\n$3\r\none\r\n*2\r\n$3\r\n6-0\r\n*2\r\n$1\r\nv\r\n$3\r\ntwo\r\n", "*-1\r\n"}[i])
		}
	})
	c, err := (&redisStream{address, "t", 2}).Consumer(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var seen []string
	for range 2 {
		if err := c.Poll(t.Context(), func(value []byte) { seen = append(seen, string(value)) }); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(seen, []string{"one", "two"}) {
		t.Errorf("seen %q", seen)
	}
	if first, then := <-asked, <-asked; !strings.HasSuffix(first, "STREAMS t-0 t-1 0 0") || !strings.HasSuffix(then, "STREAMS t-0 t-1 0 6-0") {
		t.Errorf("asked %q and %q", first, then)
	}
}

func TestTableOfPeers(t *testing.T) {
	var got table
	for i := range 3 {
		for server, value := range map[string]float64{"ringmill": 1, "kafka": 2, "NATS JetStream": float64(2 + i)} {
			got.note("a case", server, []figure{{"p50", "ms", value, false}})
		}
	}
	want := `| case | figure | ringmill | kafka | ratio (range) | NATS JetStream | ratio (range) |
|---|---|---:|---:|---|---:|---|
| a case | p50, ms | 1.00 | 2.00 | 0.500 (0.500 to 0.500) | 3.00 | 0.333 (0.250 to 0.500) |
`
	var b strings.Builder
	if err := got.printPeers(&b, []string{"ringmill", "kafka", "NATS JetStream"}); err != nil || b.String() != want {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// JetStream delivers a record under the subject that it was published to; answers about consumers are none.
func TestNATSConsumer(t *testing.T) {
	address := listen(t, func(in *bufio.Reader, out io.Writer) {
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if fields := strings.Fields(line); fields[0] == "PUB" {
				answer := `{"type":"io.nats.jetstream.api.v1.consumer_create_response"}`
				fmt.Fprintf(out, "MSG %s 2 %d\r\n%s\r\n", fields[2], len(answer), answer)
				fmt.Fprint(out, "MSG t-0 1 $JS.ACK.t-0.c.1.1.1.0.0 3\r\none\r\nMSG t-0 1 $JS.ACK.t-0.c.1.2.2.0.0 3\r\ntwo\r\n")
			}
		}
	})
	c, err := (&natsStream{address, "t", 1}).Consumer(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var seen []string
	for len(seen) < 2 && t.Context().Err() == nil {
		if err := c.Poll(t.Context(), func(value []byte) { seen = append(seen, string(value)) }); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(seen, []string{"one", "two"}) {
		t.Errorf("seen %q", seen)
	}
}
