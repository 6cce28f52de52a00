package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/ringmill/ringmill/bench"
)

// natsConn is a connection of NATS' client protocol (docs.nats.io, reference of the client protocol), as much of it as JetStream needs. It costs the
// generator less than a client library.
type natsConn struct {
	in  *bufio.Reader
	out *outbox
}

// natsMessage is a MSG or HMSG of a subscription. Its subject is where it was published, also if JetStream delivered it. status is that of a message
// that is a header alone, as 503 where nobody answers.
type natsMessage struct {
	subject, subscription, status string
	payload                       []byte
}

func dialNATS(ctx context.Context, address string) (*natsConn, error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &natsConn{in: bufio.NewReaderSize(socket, 64<<10), out: newOutbox(socket)}
	c.send("CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true,\"protocol\":1,\"lang\":\"go\",\"version\":\"0\"}\r\n")
	return c, nil
}

func (c *natsConn) send(line string) {
	c.out.add(func(dst []byte) []byte { return append(dst, line...) })
}

func (c *natsConn) close() { c.out.close() }

// publish sends a message; where reply is not empty, an answer is to come there.
func (c *natsConn) publish(subject, reply string, payload []byte) {
	c.out.add(func(dst []byte) []byte {
		dst = append(append(append(dst, "PUB "...), subject...), ' ')
		if reply != "" {
			dst = append(append(dst, reply...), ' ')
		}
		dst = append(strconv.AppendInt(dst, int64(len(payload)), 10), "\r\n"...)
		return append(append(dst, payload...), "\r\n"...)
	})
}

// read returns the next message. Its payload is the caller's.
func (c *natsConn) read() (natsMessage, error) {
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return natsMessage{}, err
		}
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		switch verb := fields[0]; {
		case (verb == "MSG" || verb == "HMSG") && len(fields) >= 4:
			return c.message(verb, fields)
		case verb == "PING":
			c.send("PONG\r\n")
		case verb == "-ERR":
			return natsMessage{}, fmt.Errorf("nats: %s", strings.TrimSpace(line))
		case verb == "INFO" || verb == "PONG" || verb == "+OK":
		default:
			return natsMessage{}, fmt.Errorf("nats: a line %q", strings.TrimSpace(line))
		}
	}
}

// message reads what follows MSG subject sid [reply] bytes, or HMSG subject sid [reply] header-bytes bytes.
func (c *natsConn) message(verb string, fields []string) (m natsMessage, err error) {
	m.subject, m.subscription = fields[1], fields[2]
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || size < 0 || size > 64<<20 {
		return m, fmt.Errorf("nats: a message of %q bytes", fields[len(fields)-1])
	}
	body := make([]byte, size+2) // and the end of the line
	if _, err := io.ReadFull(c.in, body); err != nil {
		return m, err
	}
	m.payload = body[:size]
	if verb == "HMSG" {
		header, err := strconv.Atoi(fields[len(fields)-2])
		if err != nil || header < 0 || header > size {
			return m, fmt.Errorf("nats: a header of %q bytes", fields[len(fields)-2])
		}
		if first, _, _ := bytes.Cut(m.payload[:header], []byte("\r\n")); bytes.HasPrefix(first, []byte("NATS/1.0 ")) {
			m.status = string(first[len("NATS/1.0 "):])
		}
		m.payload = m.payload[header:]
	}
	return m, nil
}

// natsFault is what is wrong with an answer of JetStream, or nothing.
func natsFault(m natsMessage) error {
	if m.status != "" {
		return fmt.Errorf("nats: status %s", m.status)
	}
	var answer struct {
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	if err := json.Unmarshal(m.payload, &answer); err != nil {
		return fmt.Errorf("nats: an answer %q: %w", m.payload, err)
	}
	if answer.Error != nil {
		return errors.New("nats: " + answer.Error.Description)
	}
	return nil
}

// natsAsk puts one question to JetStream's API over a connection of its own.
func natsAsk(ctx context.Context, address, subject string, request any) error {
	c, err := dialNATS(ctx, address)
	if err != nil {
		return err
	}
	defer c.close()
	c.send("SUB answer 1\r\n")
	if err := c.ask(subject, "answer", request); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, c.close)
	defer stop()
	m, err := c.read()
	if err != nil {
		return err
	}
	return natsFault(m)
}

func (c *natsConn) ask(subject, reply string, request any) error {
	text, err := json.Marshal(request)
	if err == nil {
		c.publish(subject, reply, text)
	}
	return err
}

// natsStream is a topic: each partition is a stream of JetStream with one subject.
type natsStream struct {
	address, topic string
	partitions     int
}

func (s *natsStream) name(partition int32) string { return fmt.Sprintf("%s-%d", s.topic, partition) }

// create makes the streams, on disk. Whether they are synced is the server's configuration.
func (s *natsStream) create(ctx context.Context) error {
	for p := range int32(s.partitions) {
		config := map[string]any{"name": s.name(p), "subjects": []string{s.name(p)}, "storage": "file", "retention": "limits", "num_replicas": 1}
		if err := natsAsk(ctx, s.address, "$JS.API.STREAM.CREATE."+s.name(p), config); err != nil {
			return err
		}
	}
	return nil
}

func (s *natsStream) remove(ctx context.Context) error {
	for p := range int32(s.partitions) {
		if err := natsAsk(ctx, s.address, "$JS.API.STREAM.DELETE."+s.name(p), map[string]any{}); err != nil {
			return err
		}
	}
	return nil
}

// natsProducer publishes each record by itself, without waiting for the one before: JetStream answers each when it is stored.
type natsProducer struct {
	stream *natsStream
	conn   *natsConn
	inbox  string
	sent   *promises
}

func (s *natsStream) Producer(ctx context.Context, i int) (bench.StreamProducer, error) {
	c, err := dialNATS(ctx, s.address)
	if err != nil {
		return nil, err
	}
	p := &natsProducer{stream: s, conn: c, inbox: fmt.Sprintf("inbox-%s-%d.", s.topic, i), sent: newPromises()}
	c.send("SUB " + p.inbox + "* 1\r\n")
	go p.read()
	return p, nil
}

func (p *natsProducer) read() {
	for {
		m, err := p.conn.read()
		if err != nil {
			p.sent.fail(err)
			return
		}
		number, err := strconv.ParseUint(strings.TrimPrefix(m.subject, p.inbox), 10, 64)
		if err == nil {
			p.sent.keep(number, natsFault(m))
		}
	}
}

func (p *natsProducer) Send(_ context.Context, partition int32, value []byte, done func(error)) {
	number := p.sent.add(done)
	p.conn.publish(p.stream.name(partition), p.inbox+strconv.FormatUint(number, 10), value)
}

func (p *natsProducer) Flush(ctx context.Context) error { return p.sent.wait(ctx) }
func (p *natsProducer) Close()                          { p.conn.close() }

// natsConsumer has the server push all records of its streams, without acknowledgements: as a Kafka consumer that commits nothing.
type natsConsumer struct {
	conn   *natsConn
	values chan []byte
	failed chan error
}

func (s *natsStream) Consumer(ctx context.Context, i, n int) (bench.StreamConsumer, error) {
	c, err := dialNATS(ctx, s.address)
	if err != nil {
		return nil, err
	}
	consumer := &natsConsumer{conn: c, values: make(chan []byte, 1<<16), failed: make(chan error, 1)}
	deliver := fmt.Sprintf("deliver-%s-%d", s.topic, i)
	c.send("SUB " + deliver + " 1\r\nSUB answer-" + deliver + " 2\r\n")
	for p := i; p < s.partitions; p += n {
		name := s.name(int32(p))
		request := map[string]any{"stream_name": name, "config": map[string]any{"deliver_subject": deliver, "deliver_policy": "all", "ack_policy": "none", "replay_policy": "instant"}}
		if err := c.ask("$JS.API.CONSUMER.CREATE."+name, "answer-"+deliver, request); err != nil {
			return nil, err
		}
		m, err := c.read()
		if err == nil {
			err = natsFault(m)
		}
		if err != nil {
			c.close()
			return nil, err
		}
	}
	go consumer.read()
	return consumer, nil
}

func (c *natsConsumer) read() {
	for {
		m, err := c.conn.read()
		if err != nil {
			c.failed <- err
			return
		}
		if m.subscription == "1" && m.status == "" {
			c.values <- m.payload
		}
	}
}

// pollWait is how long a poll waits for a first record.
const pollWait = 100 * time.Millisecond

func (c *natsConsumer) Poll(ctx context.Context, seen func([]byte)) error {
	wait := time.NewTimer(pollWait)
	defer wait.Stop()
	select {
	case value := <-c.values:
		seen(value)
	case err := <-c.failed:
		return err
	case <-wait.C:
	case <-ctx.Done():
	}
	for range len(c.values) {
		seen(<-c.values)
	}
	return nil
}

func (c *natsConsumer) Close() { c.conn.close() }
