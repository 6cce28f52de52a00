package assignor

import (
	"cmp"
	"slices"

	"github.com/ringmill/ringmill/wire"
)

// Range gives each member, of each topic, partitions that follow each other. Members that read the same topics get the
// same partitions of topics with equal counts, which joins of streams rely on. Static members come first, by instance id,
// so that they keep their partitions under a new member id.
func Range(g *Group) []Assignment {
	subscribers, _ := g.subscribers()
	dealt := make(map[wire.TopicID]*deal, len(subscribers))
	for topic, members := range subscribers {
		dealt[topic] = newDeal(g.Partitions(topic), int32(len(members)))
	}
	out := make([]Assignment, len(g.Members))
	for _, i := range g.byInstance() {
		for _, topic := range g.Members[i].Topics {
			if partitions := dealt[topic].next(); partitions != nil {
				out[i] = append(out[i], TopicPartitions{topic, partitions})
			}
		}
	}
	return out
}

// byInstance is the order in which members get their ranges.
func (g *Group) byInstance() []int {
	order := make([]int, len(g.Members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &g.Members[a], &g.Members[b]
		switch {
		case x.InstanceID != nil && y.InstanceID != nil:
			return cmp.Compare(*x.InstanceID, *y.InstanceID)
		case x.InstanceID != nil:
			return -1
		case y.InstanceID != nil:
			return 1
		}
		return cmp.Compare(x.ID, y.ID)
	})
	return order
}

// deal cuts one topic's partitions into ranges. The first of them are longer by one if the partitions do not divide.
type deal struct {
	first  int32 // of the next range
	each   int32
	longer int32 // ranges that get one more
}

func newDeal(partitions, members int32) *deal {
	return &deal{each: partitions / members, longer: partitions % members}
}

func (d *deal) next() []int32 {
	n := d.each
	if d.longer > 0 {
		n++
		d.longer--
	}
	if n == 0 {
		return nil
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = d.first + int32(i)
	}
	d.first += n
	return out
}
