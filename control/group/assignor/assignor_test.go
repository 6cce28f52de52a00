package assignor

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func topic(n byte) wire.TopicID { return wire.TopicID{15: n} }

func some(n byte, partitions ...int32) TopicPartitions { return TopicPartitions{topic(n), partitions} }

// group makes members named a, b, c… that subscribe to the topics of subscriptions, which have as many partitions as counts
// says.
func group(counts map[byte]int32, subscriptions ...[]byte) *Group {
	g := &Group{Partitions: func(id wire.TopicID) int32 { return counts[id[15]] }}
	for i, topics := range subscriptions {
		m := Member{ID: string(rune('a' + i))}
		for _, t := range topics {
			m.Topics = append(m.Topics, topic(t))
		}
		g.Members = append(g.Members, m)
	}
	return g
}

func TestNormal(t *testing.T) {
	got := Normal([]TopicPartitions{some(2, 3, 1), some(1), some(3, 0), some(2, 1, 2)})
	if want := (Assignment{some(2, 1, 2, 3), some(3, 0)}); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSets(t *testing.T) {
	a, b := Assignment{some(1, 0, 1, 2), some(2, 0)}, Assignment{some(1, 1), some(2, 0), some(3, 7)}
	for _, c := range []struct {
		name      string
		got, want Assignment
	}{
		{"intersect", a.Intersect(b), Assignment{some(1, 1), some(2, 0)}},
		{"minus", a.Minus(b), Assignment{some(1, 0, 2)}},
		{"union", a.Union(b), Assignment{some(1, 0, 1, 2), some(2, 0), some(3, 7)}},
		{"union with nothing", a.Union(nil), a},
		{"nothing with union", Assignment(nil).Union(b), b},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if !a.Has(topic(1), 2) || a.Has(topic(1), 3) || a.Has(topic(9), 0) || a.Count() != 4 {
		t.Errorf("%v", a)
	}
}

func TestRange(t *testing.T) {
	g := group(map[byte]int32{1: 3, 2: 3, 3: 1}, []byte{1, 2}, []byte{1, 2, 3}, []byte{3})
	want := []Assignment{{some(1, 0, 1), some(2, 0, 1)}, {some(1, 2), some(2, 2), some(3, 0)}, nil}
	if got := Range(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	early, late := "1", "2"
	g.Members[0].InstanceID, g.Members[1].InstanceID = &late, &early
	want = []Assignment{{some(1, 2), some(2, 2)}, {some(1, 0, 1), some(2, 0, 1), some(3, 0)}, nil}
	if got := Range(g); !reflect.DeepEqual(got, want) {
		t.Errorf("with instances: %v, want %v", got, want)
	}
}

func TestUniformKeepsAndLevels(t *testing.T) {
	g := group(map[byte]int32{1: 5}, []byte{1}, []byte{1})
	g.Members[0].Assigned = Assignment{some(1, 0, 1, 2, 3, 4)}
	want := []Assignment{{some(1, 0, 1, 2)}, {some(1, 3, 4)}}
	if got := Uniform(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	g.Members[0].Assigned, g.Members[1].Assigned = nil, Assignment{some(1, 3, 4), some(9, 1)}
	want = []Assignment{{some(1, 0, 1)}, {some(1, 2, 3, 4)}}
	if got := Uniform(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestUniformOfMixedSubscriptions(t *testing.T) {
	g := group(map[byte]int32{1: 4, 2: 2}, []byte{1}, []byte{1, 2})
	want := []Assignment{{some(1, 0, 1, 2)}, {some(1, 3), some(2, 0, 1)}}
	if got := Uniform(g); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAssignorsHoldTheirInvariants: random groups, assigned several times over as members come and go.
func TestAssignorsHoldTheirInvariants(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		counts := map[byte]int32{}
		for n := range byte(4) {
			counts[n+1] = r.Int32N(9)
		}
		for name, assign := range map[string]Func{RangeName: Range, UniformName: Uniform} {
			g := group(counts)
			for step := range 12 {
				change(r, g, step)
				homogeneous := g.isHomogeneous()
				out := assign(g)
				if !reflect.DeepEqual(out, assign(g)) {
					t.Fatalf("%s: seed %d step %d: A5: another result", name, seed, step)
				}
				if problem := judge(g, counts, out, name == UniformName && homogeneous); problem != "" {
					t.Fatalf("%s: seed %d step %d: %s: %v", name, seed, step, problem, out)
				}
				for i := range g.Members {
					g.Members[i].Assigned = out[i]
				}
			}
		}
	}
}

// change adds a member, removes one, or gives one other topics.
func change(r *rand.Rand, g *Group, step int) {
	subscription := func() (topics []wire.TopicID) {
		for n := range byte(4) {
			if r.IntN(3) > 0 {
				topics = append(topics, topic(n+1))
			}
		}
		return topics
	}
	if r.IntN(4) == 0 {
		all := subscription()
		for i := range g.Members {
			g.Members[i].Topics = all
		}
	}
	switch n := len(g.Members); {
	case n == 0 || r.IntN(2) == 0:
		g.Members = append(g.Members, Member{ID: fmt.Sprintf("m%03d", step), Topics: subscription()})
	case r.IntN(2) == 0:
		i := r.IntN(n)
		g.Members = slices.Delete(g.Members, i, i+1)
	default:
		g.Members[r.IntN(n)].Topics = subscription()
	}
}

func judge(g *Group, counts map[byte]int32, out []Assignment, even bool) string {
	owned := map[place]int{}
	least, most := 1<<30, 0
	for i, a := range out {
		if !a.Equal(Normal(a)) {
			return "not in order"
		}
		least, most = min(least, a.Count()), max(most, a.Count())
		for _, tp := range a {
			if !g.Members[i].subscribes(tp.Topic) {
				return "A1: a topic that the member does not read"
			}
			for _, p := range tp.Partitions {
				owned[place{tp.Topic, p}]++
			}
		}
	}
	total := 0
	_, topics := g.subscribers()
	for _, id := range topics {
		for p := range counts[id[15]] {
			total++
			if owned[place{id, p}] != 1 {
				return "A1: a partition that is not owned once"
			}
		}
	}
	if total != len(owned) {
		return "A1: partitions that do not exist"
	}
	if even && len(out) > 0 && most-least > 1 {
		return "A2: uneven"
	}
	return ""
}

// TestUniformIsSticky: A3: when one of equal members goes, the others keep all they have.
func TestUniformIsSticky(t *testing.T) {
	g := group(map[byte]int32{1: 30, 2: 12}, []byte{1, 2}, []byte{1, 2}, []byte{1, 2}, []byte{1, 2})
	for i, a := range Uniform(g) {
		g.Members[i].Assigned = a
	}
	g.Members = slices.Delete(g.Members, 1, 2)
	for i, a := range Uniform(g) {
		if lost := g.Members[i].Assigned.Minus(a); len(lost) > 0 {
			t.Errorf("%s lost %v", g.Members[i].ID, lost)
		}
	}
}
