package limits

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Null is a server that acknowledges every batch at once and keeps none: what a client does with it is the client's own limit. It has every topic
// that it is asked for, and leads all of its partitions. It is this process's, whose CPU time it adds to.
type Null struct {
	listener   net.Listener
	partitions int32
	host       string
	port       int32

	mu    sync.Mutex
	conns map[net.Conn]bool // nil once it is closed
	left  sync.WaitGroup
}

// nullVersions are the keys that it answers with their highest versions: none that names a topic by its id.
var nullVersions = map[kmsg.Key]int16{
	kmsg.Produce: 12, kmsg.ListOffsets: 7, kmsg.Metadata: 12, kmsg.ApiVersions: 3, kmsg.CreateTopics: 7, kmsg.DeleteTopics: 5, kmsg.InitProducerID: 4,
}

// StartNull begins to listen on a free port of the loopback; its topics have so many partitions. Close ends it.
func StartNull(partitions int) (*Null, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &Null{listener: listener, partitions: int32(partitions), conns: map[net.Conn]bool{}}
	address := listener.Addr().(*net.TCPAddr)
	n.host, n.port = address.IP.String(), int32(address.Port)
	n.left.Go(n.accept)
	return n, nil
}

// Address is where it listens.
func (n *Null) Address() string { return net.JoinHostPort(n.host, strconv.Itoa(int(n.port))) }

// Close ends all connections and returns when nothing of it runs any more.
func (n *Null) Close() {
	n.listener.Close()
	n.mu.Lock()
	for c := range n.conns {
		c.Close()
	}
	n.conns = nil
	n.mu.Unlock()
	n.left.Wait()
}

func (n *Null) accept() {
	for {
		conn, err := n.listener.Accept()
		if err != nil {
			return
		}
		n.mu.Lock()
		if n.conns == nil {
			conn.Close()
		} else {
			n.conns[conn] = true
			n.left.Go(func() { n.serve(conn) })
		}
		n.mu.Unlock()
	}
}

// serve answers a connection until it ends, or asks for what nobody here knows.
func (n *Null) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		n.mu.Lock()
		delete(n.conns, conn)
		n.mu.Unlock()
	}()
	in := bufio.NewReaderSize(conn, 64<<10)
	var frame, out []byte
	for {
		var err error
		if frame, err = readFrame(in, frame); err != nil {
			return
		}
		if out, err = n.answer(out[:0], frame); err != nil {
			return
		}
		if _, err := conn.Write(out); err != nil {
			return
		}
	}
}

// nullFrameMax bounds a request.
const nullFrameMax = 64 << 20

func readFrame(in io.Reader, buf []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(in, size[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(size[:])
	if length < 10 || length > nullFrameMax {
		return nil, fmt.Errorf("a frame of %d bytes", length)
	}
	if cap(buf) < int(length) {
		buf = make([]byte, length)
	}
	buf = buf[:length]
	_, err := io.ReadFull(in, buf)
	return buf, err
}

// answer appends the answer to a request: key, version, correlation id, client id and, in flexible versions, tagged fields precede its body.
func (n *Null) answer(dst, frame []byte) ([]byte, error) {
	key, version, body := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:])), frame[10:]
	if id := int16(binary.BigEndian.Uint16(frame[8:])); id > 0 {
		if int(id) > len(body) {
			return nil, io.ErrUnexpectedEOF
		}
		body = body[id:]
	}
	if key == int16(kmsg.ApiVersions) && version > nullVersions[kmsg.ApiVersions] {
		return appendResponse(dst, frame, unsupported()), nil
	}
	req := kmsg.RequestForKey(key)
	if highest, known := nullVersions[kmsg.Key(key)]; req == nil || !known || version > highest {
		return nil, fmt.Errorf("key %d version %d is not known", key, version)
	}
	req.SetVersion(version)
	if req.IsFlexible() {
		if len(body) == 0 || body[0] != 0 {
			return nil, fmt.Errorf("tagged fields in the header of key %d", key)
		}
		body = body[1:]
	}
	if err := req.ReadFrom(body); err != nil {
		return nil, err
	}
	return appendResponse(dst, frame, n.respond(req)), nil
}

// appendResponse appends a response to a request's frame, with its correlation id.
func appendResponse(dst, frame []byte, resp kmsg.Response) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = append(dst, frame[4:8]...)
	if resp.IsFlexible() && resp.Key() != int16(kmsg.ApiVersions) {
		dst = append(dst, 0)
	}
	dst = resp.AppendTo(dst)
	binary.BigEndian.PutUint32(dst, uint32(len(dst)-4))
	return dst
}

// unsupported answers an ApiVersions that is too new, in version 0, by which every client falls back (KIP-511).
func unsupported() kmsg.Response {
	return listed(&kmsg.ApiVersionsResponse{ErrorCode: kerr.UnsupportedVersion.Code})
}

// listed adds what is answered.
func listed(resp *kmsg.ApiVersionsResponse) kmsg.Response {
	for key, highest := range nullVersions {
		resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: int16(key), MaxVersion: highest})
	}
	return resp
}

func (n *Null) respond(req kmsg.Request) kmsg.Response {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		acknowledge(req, resp.(*kmsg.ProduceResponse))
	case *kmsg.ApiVersionsRequest:
		return listed(resp.(*kmsg.ApiVersionsResponse))
	case *kmsg.MetadataRequest:
		n.describe(req, resp.(*kmsg.MetadataResponse))
	case *kmsg.CreateTopicsRequest:
		for _, asked := range req.Topics {
			told := kmsg.NewCreateTopicsResponseTopic()
			told.Topic = asked.Topic
			resp.(*kmsg.CreateTopicsResponse).Topics = append(resp.(*kmsg.CreateTopicsResponse).Topics, told)
		}
	case *kmsg.ListOffsetsRequest:
		tellEnds(req, resp.(*kmsg.ListOffsetsResponse))
	case *kmsg.InitProducerIDRequest:
		resp.(*kmsg.InitProducerIDResponse).ProducerID = 1
	}
	return resp
}

func acknowledge(req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse) {
	for _, topic := range req.Topics {
		told := kmsg.NewProduceResponseTopic()
		told.Topic = topic.Topic
		for _, part := range topic.Partitions {
			done := kmsg.NewProduceResponseTopicPartition()
			done.Partition = part.Partition
			told.Partitions = append(told.Partitions, done)
		}
		resp.Topics = append(resp.Topics, told)
	}
}

func tellEnds(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	for _, topic := range req.Topics {
		told := kmsg.NewListOffsetsResponseTopic()
		told.Topic = topic.Topic
		for _, part := range topic.Partitions {
			end := kmsg.NewListOffsetsResponseTopicPartition()
			end.Partition, end.Offset = part.Partition, 0
			told.Partitions = append(told.Partitions, end)
		}
		resp.Topics = append(resp.Topics, told)
	}
}

func (n *Null) describe(req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	broker := kmsg.NewMetadataResponseBroker()
	broker.Host, broker.Port = n.host, n.port
	resp.Brokers = append(resp.Brokers, broker)
	for _, asked := range req.Topics {
		told := kmsg.NewMetadataResponseTopic()
		told.Topic = asked.Topic
		for i := range n.partitions {
			part := kmsg.NewMetadataResponseTopicPartition()
			part.Partition, part.Replicas, part.ISR = i, []int32{0}, []int32{0}
			told.Partitions = append(told.Partitions, part)
		}
		resp.Topics = append(resp.Topics, told)
	}
}
