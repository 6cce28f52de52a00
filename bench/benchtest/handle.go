package benchtest

import (
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// served are the API keys with their highest versions: below those that name a topic by its id.
var served = map[kmsg.Key]int16{
	kmsg.Produce: 12, kmsg.Fetch: 12, kmsg.ListOffsets: 7, kmsg.Metadata: 12, kmsg.ApiVersions: 3,
	kmsg.CreateTopics: 7, kmsg.DeleteTopics: 5, kmsg.InitProducerID: 4, kmsg.SASLHandshake: 1, kmsg.SASLAuthenticate: 2,
}

func (s *Server) handle(n *node, req kmsg.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer := req.ResponseKind()
	answer.SetVersion(req.GetVersion())
	switch req := req.(type) {
	case *kmsg.ApiVersionsRequest:
		describeVersions(answer.(*kmsg.ApiVersionsResponse))
	case *kmsg.MetadataRequest:
		s.describe(req, answer.(*kmsg.MetadataResponse))
	case *kmsg.CreateTopicsRequest:
		return s.createLater(req, answer.(*kmsg.CreateTopicsResponse))
	case *kmsg.DeleteTopicsRequest:
		s.remove(req, answer.(*kmsg.DeleteTopicsResponse))
	case *kmsg.ListOffsetsRequest:
		s.list(n, req, answer.(*kmsg.ListOffsetsResponse))
	case *kmsg.InitProducerIDRequest:
		s.created++
		answer.(*kmsg.InitProducerIDResponse).ProducerID = s.created
	case *kmsg.ProduceRequest:
		return s.produce(n, req, answer.(*kmsg.ProduceResponse))
	case *kmsg.FetchRequest:
		return s.fetch(n, req, answer.(*kmsg.FetchResponse))
	}
	return reply{body: answer}
}

func describeVersions(answer *kmsg.ApiVersionsResponse) {
	if answer.Version > served[kmsg.ApiVersions] {
		answer.Version, answer.ErrorCode = 0, kerr.UnsupportedVersion.Code
	}
	for key, highest := range served {
		answer.ApiKeys = append(answer.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: int16(key), MaxVersion: highest})
	}
}

func (s *Server) describe(req *kmsg.MetadataRequest, answer *kmsg.MetadataResponse) {
	for _, n := range s.nodes {
		if !n.down {
			answer.Brokers = append(answer.Brokers, kmsg.MetadataResponseBroker{NodeID: n.id, Host: n.host, Port: n.port})
		}
	}
	answer.ClusterID, answer.ControllerID = kmsg.StringPtr("benchtest"), s.runningAfter(0)
	var names []string
	for _, asked := range req.Topics {
		if asked.Topic != nil {
			names = append(names, *asked.Topic)
		}
	}
	if req.Topics == nil {
		for name := range s.topics {
			names = append(names, name)
		}
	}
	for _, name := range names {
		answer.Topics = append(answer.Topics, s.describeTopic(name))
	}
}

func (s *Server) describeTopic(name string) kmsg.MetadataResponseTopic {
	told := kmsg.NewMetadataResponseTopic()
	told.Topic = kmsg.StringPtr(name)
	t := s.topics[name]
	if t == nil {
		told.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return told
	}
	told.TopicID = t.id
	for i, p := range t.partitions {
		part := kmsg.NewMetadataResponseTopicPartition()
		part.Partition, part.Leader = int32(i), p.leader
		part.Replicas, part.ISR = []int32{p.leader}, []int32{p.leader}
		if p.leader < 0 {
			part.ErrorCode = kerr.LeaderNotAvailable.Code
		}
		told.Partitions = append(told.Partitions, part)
	}
	return told
}

// createLater makes topics once it is time, whether anybody is told or not.
func (s *Server) createLater(req *kmsg.CreateTopicsRequest, answer *kmsg.CreateTopicsResponse) reply {
	made := make(chan struct{})
	time.AfterFunc(s.creating, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.create(req, answer)
		close(made)
	})
	if s.unanswered {
		return reply{hangUp: true}
	}
	return reply{later: func() kmsg.Response {
		<-made
		return answer
	}}
}

func (s *Server) create(req *kmsg.CreateTopicsRequest, answer *kmsg.CreateTopicsResponse) {
	for _, asked := range req.Topics {
		told := kmsg.NewCreateTopicsResponseTopic()
		told.Topic = asked.Topic
		told.ErrorCode = s.refusals[kmsg.CreateTopics]
		switch {
		case told.ErrorCode != 0:
		case s.topics[asked.Topic] != nil:
			told.ErrorCode = kerr.TopicAlreadyExists.Code
		case !req.ValidateOnly:
			s.created++
			t := &topic{}
			binary.BigEndian.PutUint64(t.id[8:], uint64(s.created))
			for i := range max(asked.NumPartitions, 1) {
				t.partitions = append(t.partitions, &partition{leader: s.runningAfter(i % int32(len(s.nodes)))})
			}
			s.topics[asked.Topic] = t
			s.properties = map[string]string{}
			for _, c := range asked.Configs {
				s.properties[c.Name] = *c.Value
			}
		}
		answer.Topics = append(answer.Topics, told)
	}
}

func (s *Server) remove(req *kmsg.DeleteTopicsRequest, answer *kmsg.DeleteTopicsResponse) {
	for _, name := range req.TopicNames {
		told := kmsg.NewDeleteTopicsResponseTopic()
		told.Topic = kmsg.StringPtr(name)
		if told.ErrorCode = s.refusals[kmsg.DeleteTopics]; told.ErrorCode == 0 {
			if s.topics[name] == nil {
				told.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			delete(s.topics, name)
		}
		answer.Topics = append(answer.Topics, told)
	}
}

// led is a partition if this node leads it, or why not.
func (s *Server) led(n *node, name string, number int32) (*partition, int16) {
	t := s.topics[name]
	if t == nil || number < 0 || int(number) >= len(t.partitions) {
		return nil, kerr.UnknownTopicOrPartition.Code
	}
	if p := t.partitions[number]; p.leader == n.id {
		return p, 0
	}
	return nil, kerr.NotLeaderForPartition.Code
}

func (s *Server) list(n *node, req *kmsg.ListOffsetsRequest, answer *kmsg.ListOffsetsResponse) {
	for _, asked := range req.Topics {
		told := kmsg.NewListOffsetsResponseTopic()
		told.Topic = asked.Topic
		for _, part := range asked.Partitions {
			end := kmsg.NewListOffsetsResponseTopicPartition()
			end.Partition = part.Partition
			p, code := s.led(n, asked.Topic, part.Partition)
			if end.ErrorCode = code; code == 0 && part.Timestamp == -2 {
				end.Offset = 0
			} else if code == 0 {
				end.Offset = p.end
			}
			told.Partitions = append(told.Partitions, end)
		}
		answer.Topics = append(answer.Topics, told)
	}
}

// produce keeps batches at once and answers by the script. A batch whose checksum is wrong is refused.
func (s *Server) produce(n *node, req *kmsg.ProduceRequest, answer *kmsg.ProduceResponse) reply {
	now := time.Now()
	r := reply{body: answer, due: now, none: req.Acks == 0}
	for _, sent := range req.Topics {
		told := kmsg.NewProduceResponseTopic()
		told.Topic = sent.Topic
		for _, part := range sent.Partitions {
			done := kmsg.NewProduceResponseTopicPartition()
			done.Partition = part.Partition
			p, code := s.led(n, sent.Topic, part.Partition)
			if code == 0 {
				done.BaseOffset, code = p.append(part.Records)
			}
			if done.ErrorCode = code; code == 0 {
				r.due = s.start.Add(s.script(s.batches, now.Sub(s.start)))
				s.batches++
				r.batches = append(r.batches, len(s.answers))
				s.answers = append(s.answers, Answer{Topic: sent.Topic, Partition: part.Partition, Records: recordsIn(part.Records), Bytes: len(part.Records), Arrived: now})
			}
			told.Partitions = append(told.Partitions, done)
		}
		answer.Topics = append(answer.Topics, told)
	}
	s.stir()
	return r
}

// recordsIn is how many records there are in the first batch.
func recordsIn(records []byte) int {
	batch, _, err := wire.ReadRecordBatch(records)
	if err != nil {
		return 0
	}
	return int(batch.RecordCount())
}

func (p *partition) append(records []byte) (base int64, code int16) {
	kept := append([]byte(nil), records...)
	base = p.end
	for src := kept; len(src) > 0; {
		batch, tail, err := wire.ReadRecordBatch(src)
		if err != nil || batch.ComputeCRC() != batch.CRC() {
			return -1, kerr.CorruptMessage.Code
		}
		batch.SetBaseOffset(wire.Offset(p.end))
		batch.SetPartitionLeaderEpoch(0)
		p.batches = append(p.batches, storedBatch{bytes: batch[:batch.Length()], base: p.end, next: int64(batch.NextOffset())})
		p.end, src = int64(batch.NextOffset()), tail
	}
	return base, 0
}

// fetch answers at once with what there is, or waits for the first batch as long as the request allows.
func (s *Server) fetch(n *node, req *kmsg.FetchRequest, answer *kmsg.FetchResponse) reply {
	if s.read(n, req, answer) || req.MaxWaitMillis <= 0 {
		return reply{body: answer}
	}
	until := time.Now().Add(time.Duration(req.MaxWaitMillis) * time.Millisecond)
	return reply{later: func() kmsg.Response { return s.readLater(n, req, until) }}
}

func (s *Server) readLater(n *node, req *kmsg.FetchRequest, until time.Time) kmsg.Response {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		answer := req.ResponseKind().(*kmsg.FetchResponse)
		s.mu.Lock()
		found, wake := s.read(n, req, answer), s.wake
		over := s.closed || n.down
		s.mu.Unlock()
		if found || over || !time.Now().Before(until) {
			return answer
		}
		select {
		case <-wake:
		case <-timer.C:
		}
	}
}

// read fills in what there is; found says that a client need not wait: there are records, or an error.
func (s *Server) read(n *node, req *kmsg.FetchRequest, answer *kmsg.FetchResponse) (found bool) {
	for _, asked := range req.Topics {
		told := kmsg.NewFetchResponseTopic()
		told.Topic = asked.Topic
		for _, part := range asked.Partitions {
			got := kmsg.NewFetchResponseTopicPartition()
			got.Partition = part.Partition
			p, code := s.led(n, asked.Topic, part.Partition)
			if got.ErrorCode = code; code == 0 {
				got.HighWatermark, got.LastStableOffset, got.RecordBatches = p.end, p.end, p.from(part.FetchOffset, int(part.PartitionMaxBytes))
			}
			found = found || code != 0 || len(got.RecordBatches) > 0
			told.Partitions = append(told.Partitions, got)
		}
		answer.Topics = append(answer.Topics, told)
	}
	return found
}

func (p *partition) from(offset int64, bytesMax int) (records []byte) {
	for i := p.find(offset); i < len(p.batches) && (len(records) == 0 || len(records)+len(p.batches[i].bytes) <= bytesMax); i++ {
		records = append(records, p.batches[i].bytes...)
	}
	return records
}

// find is the first batch that ends behind an offset.
func (p *partition) find(offset int64) int {
	low, high := 0, len(p.batches)
	for low < high {
		if middle := (low + high) / 2; p.batches[middle].next <= offset {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
