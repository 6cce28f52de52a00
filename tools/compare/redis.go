package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/ringmill/ringmill/bench"
)

// redisReply is an answer of Redis (RESP2, redis.io/docs/latest/develop/reference/protocol-spec): text of a string of either kind, items of an
// array, or the number; none of them for nil.
type redisReply struct {
	text   []byte
	items  []redisReply
	number int64
}

// errRedis is wrapped by what Redis refuses.
var errRedis = errors.New("redis")

// Bounds of an answer, and how deep arrays lie in each other: XREAD's have four.
const (
	redisBytesMax = 512 << 20
	redisItemsMax = 1 << 20
	redisDepthMax = 8
)

// readRedis reads an answer. An error that wraps errRedis is the answer itself, and the next one can be read.
func readRedis(in *bufio.Reader, depth int) (r redisReply, err error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return r, err
	}
	if len(line) < 3 || depth > redisDepthMax {
		return r, fmt.Errorf("redis: an answer begins with %q", line)
	}
	kind, rest := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+':
		r.text = []byte(rest)
		return r, nil
	case '-':
		return r, fmt.Errorf("%w: %s", errRedis, rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil:
		return r, fmt.Errorf("redis: an answer begins with %q", line)
	case kind == ':':
		r.number = n
	case n == -1 && (kind == '$' || kind == '*'):
	case kind == '$' && n >= 0 && n <= redisBytesMax:
		r.text = make([]byte, n+2) // and the end of the line
		_, err = io.ReadFull(in, r.text)
		r.text = r.text[:n]
	case kind == '*' && n >= 0 && n <= redisItemsMax:
		r.items = make([]redisReply, n)
		for i := range r.items {
			if r.items[i], err = readRedis(in, depth+1); err != nil {
				return r, err
			}
		}
	default:
		err = fmt.Errorf("redis: an answer begins with %q", line)
	}
	return r, err
}

// appendRedis adds a command: an array of strings.
func appendRedis(dst []byte, words ...string) []byte {
	dst = append(strconv.AppendInt(append(dst, '*'), int64(len(words)), 10), "\r\n"...)
	for _, word := range words {
		dst = appendBulk(dst, word)
	}
	return dst
}

// appendBulk adds a string, which may have any bytes.
func appendBulk[T string | []byte](dst []byte, word T) []byte {
	dst = append(strconv.AppendInt(append(dst, '$'), int64(len(word)), 10), "\r\n"...)
	return append(append(dst, word...), "\r\n"...)
}

// redisConn is a connection.
type redisConn struct {
	in  *bufio.Reader
	out *outbox
}

func dialRedis(ctx context.Context, address string) (*redisConn, error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &redisConn{bufio.NewReaderSize(socket, 64<<10), newOutbox(socket)}, nil
}

func (c *redisConn) close() { c.out.close() }

// ask sends a command and reads its answer.
func (c *redisConn) ask(words ...string) (redisReply, error) {
	c.out.add(func(dst []byte) []byte { return appendRedis(dst, words...) })
	return readRedis(c.in, 0)
}

// redisStream is a topic: each partition is a key with a stream.
type redisStream struct {
	address, topic string
	partitions     int
}

func (s *redisStream) key(partition int32) string { return fmt.Sprintf("%s-%d", s.topic, partition) }

func (s *redisStream) remove(ctx context.Context) error {
	c, err := dialRedis(ctx, s.address)
	if err != nil {
		return err
	}
	defer c.close()
	for p := range int32(s.partitions) {
		if _, err := c.ask("DEL", s.key(p)); err != nil {
			return err
		}
	}
	return nil
}

// redisProducer adds each record by itself, without waiting for the one before: Redis answers in order, after the sync of its append-only file if it
// is told to sync always.
type redisProducer struct {
	stream *redisStream
	conn   *redisConn
	sent   *promises
}

func (s *redisStream) Producer(ctx context.Context, _ int) (bench.StreamProducer, error) {
	c, err := dialRedis(ctx, s.address)
	if err != nil {
		return nil, err
	}
	p := &redisProducer{s, c, newPromises()}
	go p.read()
	return p, nil
}

func (p *redisProducer) read() {
	for number := uint64(1); ; number++ {
		_, err := readRedis(p.conn.in, 0)
		if err != nil && !errors.Is(err, errRedis) {
			p.sent.fail(err)
			return
		}
		p.sent.keep(number, err)
	}
}

func (p *redisProducer) Send(_ context.Context, partition int32, value []byte, done func(error)) {
	p.sent.add(done)
	p.conn.out.add(func(dst []byte) []byte {
		dst = appendBulk(append(dst, "*5\r\n$4\r\nXADD\r\n"...), p.stream.key(partition))
		return appendBulk(append(dst, "$1\r\n*\r\n$1\r\nv\r\n"...), value)
	})
}

func (p *redisProducer) Flush(ctx context.Context) error { return p.sent.wait(ctx) }
func (p *redisProducer) Close()                          { p.conn.close() }

// redisConsumer reads its keys on from where it is, without a group.
type redisConsumer struct {
	conn *redisConn
	keys []string
	last map[string]string // id of the last record by key
}

func (s *redisStream) Consumer(ctx context.Context, i, n int) (bench.StreamConsumer, error) {
	conn, err := dialRedis(ctx, s.address)
	if err != nil {
		return nil, err
	}
	c := &redisConsumer{conn: conn, last: map[string]string{}}
	for p := i; p < s.partitions; p += n {
		key := s.key(int32(p))
		c.keys, c.last[key] = append(c.keys, key), "0"
	}
	return c, nil
}

func (c *redisConsumer) Poll(_ context.Context, seen func([]byte)) error {
	words := append([]string{"XREAD", "COUNT", "1000", "BLOCK", strconv.FormatInt(pollWait.Milliseconds(), 10), "STREAMS"}, c.keys...)
	for _, key := range c.keys {
		words = append(words, c.last[key])
	}
	reply, err := c.conn.ask(words...)
	if err != nil {
		return err
	}
	for _, stream := range reply.items { // key, records
		if len(stream.items) != 2 {
			return fmt.Errorf("redis: a stream of %d parts", len(stream.items))
		}
		for _, record := range stream.items[1].items { // id, fields and values
			if len(record.items) != 2 || len(record.items[1].items) != 2 {
				return errors.New("redis: a record that is not of this generator")
			}
			c.last[string(stream.items[0].text)] = string(record.items[0].text)
			seen(record.items[1].items[1].text)
		}
	}
	return nil
}

func (c *redisConsumer) Close() { c.conn.close() }
