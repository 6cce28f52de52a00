package image

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/ringmill/ringmill/wire"
)

// A fenced node changes thousands of partitions in one entry, and a snapshot has all of them: their records are written and read by
// hand, ten times as fast as encoding/json does. The bytes are the ones that it would write; what it may read and is written
// otherwise is left to it.

const partitionHead = `{"type":"` + kindPartition + `","version":0,"data":{"topicId":"`

// appendPartition appends what encoding/json would.
func appendPartition(dst []byte, r *PartitionRecord) []byte {
	s := &r.State
	dst = append(dst, partitionHead...)
	dst = base64.RawURLEncoding.AppendEncode(dst, r.Topic[:])
	dst = appendNumber(dst, `","partitionId":`, int64(r.Partition))
	dst = appendNodes(dst, `,"replicas":`, s.Replicas)
	for i, list := range s.optionalLists() {
		if len(*list) > 0 {
			dst = appendNodes(dst, optionalNames[i], *list)
		}
	}
	dst = appendNumber(dst, `,"leader":`, int64(s.Leader))
	dst = appendNumber(dst, `,"leaderEpoch":`, int64(s.LeaderEpoch))
	dst = appendNumber(dst, `,"partitionEpoch":`, int64(s.PartitionEpoch))
	if s.Recovering {
		dst = append(dst, recoveringField...)
	}
	return append(dst, "}}"...)
}

const recoveringField = `,"leaderRecovering":true`

// optionalNames are the fields of optionalLists.
var optionalNames = [...]string{`,"isr":`, `,"eligibleLeaderReplicas":`, `,"lastKnownElr":`, `,"addingReplicas":`, `,"removingReplicas":`}

// optionalLists are the lists that are left out where they are empty, in the order of the file.
func (s *PartitionState) optionalLists() [len(optionalNames)]*[]wire.NodeID {
	return [...]*[]wire.NodeID{&s.ISR, &s.ELR, &s.LastKnownELR, &s.Adding, &s.Removing}
}

func appendNumber(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(dst, name...), n, 10)
}

func appendNodes(dst []byte, name string, ids []wire.NodeID) []byte {
	dst = append(append(dst, name...), '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(id), 10)
	}
	return append(dst, ']')
}

// readPartition reads what appendPartition writes; ok is false for all else, which may be a good record all the same.
func readPartition(value []byte) (r PartitionRecord, ok bool) {
	p := partitionReader{rest: value, ok: true}
	p.literal(partitionHead)
	p.topicID(&r.Topic)
	r.Partition = wire.PartitionIndex(p.number(`","partitionId":`))
	p.nodes(`,"replicas":`, &r.State.Replicas)
	for i, list := range r.State.optionalLists() {
		if bytes.HasPrefix(p.rest, []byte(optionalNames[i])) {
			p.nodes(optionalNames[i], list)
		}
	}
	r.State.Leader = wire.NodeID(p.number(`,"leader":`))
	r.State.LeaderEpoch = wire.LeaderEpoch(p.number(`,"leaderEpoch":`))
	r.State.PartitionEpoch = wire.PartitionEpoch(p.number(`,"partitionEpoch":`))
	if r.State.Recovering = bytes.HasPrefix(p.rest, []byte(recoveringField)); r.State.Recovering {
		p.literal(recoveringField)
	}
	p.literal("}}")
	return r, p.ok && len(p.rest) == 0
}

// partitionReader reads one value from its front; ok is false once something was not as it should be.
type partitionReader struct {
	rest []byte
	ok   bool
	ids  []wire.NodeID // the lists read so far: one allocation holds them
}

func (p *partitionReader) literal(s string) {
	if !p.ok || !bytes.HasPrefix(p.rest, []byte(s)) {
		p.ok = false
		return
	}
	p.rest = p.rest[len(s):]
}

func (p *partitionReader) topicID(id *wire.TopicID) {
	const length = 22
	if !p.ok || len(p.rest) < length {
		p.ok = false
		return
	}
	n, err := base64.RawURLEncoding.Strict().Decode(id[:], p.rest[:length])
	p.rest, p.ok = p.rest[length:], err == nil && n == len(id)
}

// number reads a number of at most nine digits behind a name, in the only form in which one is written. Longer ones are left to
// encoding/json.
func (p *partitionReader) number(name string) int32 {
	p.literal(name)
	return p.digits()
}

func (p *partitionReader) digits() int32 {
	negative := p.ok && len(p.rest) > 0 && p.rest[0] == '-'
	if negative {
		p.rest = p.rest[1:]
	}
	n, length := int32(0), 0
	for length < len(p.rest) && p.rest[length] >= '0' && p.rest[length] <= '9' {
		if length == 9 {
			p.ok = false
			return 0
		}
		n = n*10 + int32(p.rest[length]-'0')
		length++
	}
	if length == 0 || p.rest[0] == '0' && (length > 1 || negative) {
		p.ok = false
		return 0
	}
	p.rest = p.rest[length:]
	if negative {
		return -n
	}
	return n
}

// nodes reads a list that is not empty.
func (p *partitionReader) nodes(name string, list *[]wire.NodeID) {
	p.literal(name)
	p.literal("[")
	if p.ids == nil {
		p.ids = make([]wire.NodeID, 0, 8)
	}
	from := len(p.ids)
	for p.ok {
		p.ids = append(p.ids, wire.NodeID(p.digits()))
		if p.ok && len(p.rest) > 0 && p.rest[0] == ',' {
			p.rest = p.rest[1:]
			continue
		}
		break
	}
	p.literal("]")
	*list = p.ids[from:len(p.ids):len(p.ids)]
}
