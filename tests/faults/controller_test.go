package faults

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/tests/harness"
)

// controllerBy is the controller that a node tells of; -1 if it knows none or does not answer.
func controllerBy(t *testing.T, n *harness.Node) int32 {
	if r, err := ask[*kmsg.MetadataResponse](t, n, kmsg.NewPtrMetadataRequest()); err == nil {
		return r.ControllerID
	}
	return -1
}

// ask asks this node, and no other, once.
func ask[R kmsg.Response](t *testing.T, n *harness.Node, req kmsg.Request) (answer R, err error) {
	client, err := kgo.NewClient(append(n.Seeds(), kgo.RequestRetries(0))...)
	if err != nil {
		t.Error(err)
		return answer, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	response, err := client.SeedBrokers()[0].Request(ctx, req)
	if err != nil {
		return answer, err
	}
	return response.(R), nil
}

// askUntil asks a node again until it gives an answer that is not that it is no controller, and gives the code of that.
func askUntil(t *testing.T, n *harness.Node, once func() (int16, error)) chan int16 {
	answered := make(chan int16, 1)
	go func() {
		for {
			code, err := once()
			if t.Context().Err() != nil || err == nil && code != kerr.NotController.Code {
				answered <- code
				return
			}
		}
	}()
	return answered
}

// TestAnOldControllerRefusesNothing: a controller that was asleep while the others, which it cannot reach, elected another one, believes for a
// while that it is still the controller. What it does not know yet it does not refuse: a topic that was made since is there, one that was deleted
// may be made again.
func TestAnOldControllerRefusesNothing(t *testing.T) {
	w := network(t, 3)
	c := harness.StartClusterAt(t, w.Places(), properties)
	first := int32(-1)
	harness.Await(t, "the nodes tell of one controller", func() bool {
		first = controllerBy(t, c.Nodes[0])
		return first > 0 && controllerBy(t, c.Nodes[1]) == first && controllerBy(t, c.Nodes[2]) == first
	})
	old, others := c.Nodes[first-1], []int{int(first)%3 + 1, int(first+1)%3 + 1}
	another := c.Nodes[others[0]-1]
	gone := another.CreateTopic(t, "gone", 1)
	harness.Await(t, "the controller has followed its own decision", func() bool {
		r, err := ask[*kmsg.MetadataResponse](t, old, &kmsg.MetadataRequest{Version: 9, Topics: []kmsg.MetadataRequestTopic{{Topic: &gone}}})
		return err == nil && len(r.Topics) == 1 && r.Topics[0].ErrorCode == 0
	})

	w.Cut(t, linksBetween([]int{int(first)}, others, bothWays)...)
	old.Pause(t)
	harness.Await(t, "another controller", func() bool { id := controllerBy(t, another); return id > 0 && id != first })
	made := harness.Name("made") // perhaps on the node that is gone, which is not fenced yet: then nobody leads it
	another.MakeTopic(t, made, 1, 1)
	harness.Asked(t, another, "DeleteTopics", func(ctx context.Context, admin *kadm.Client) (kadm.DeleteTopicResponse, error) {
		return admin.DeleteTopic(ctx, gone)
	})
	old.Resume(t)
	grow := &kmsg.CreatePartitionsRequest{Version: 3, TimeoutMillis: 30000, ValidateOnly: true, Topics: []kmsg.CreatePartitionsRequestTopic{{Topic: made, Count: 2}}}
	grown := askUntil(t, old, func() (int16, error) {
		r, err := ask[*kmsg.CreatePartitionsResponse](t, old, grow)
		if err != nil || len(r.Topics) != 1 {
			return 0, err
		}
		return r.Topics[0].ErrorCode, nil
	})
	remake := &kmsg.CreateTopicsRequest{Version: 7, TimeoutMillis: 30000, ValidateOnly: true, Topics: []kmsg.CreateTopicsRequestTopic{{Topic: gone, NumPartitions: 1, ReplicationFactor: 1}}}
	remade := askUntil(t, old, func() (int16, error) {
		r, err := ask[*kmsg.CreateTopicsResponse](t, old, remake)
		if err != nil || len(r.Topics) != 1 {
			return 0, err
		}
		return r.Topics[0].ErrorCode, nil
	})
	believed := false
	harness.Await(t, "the old controller finds out that it is none", func() bool {
		id := controllerBy(t, old)
		believed = believed || id == first
		return id != first
	})
	if !believed {
		t.Error("the old controller never believed that it was still the controller: nothing was tried")
	}
	w.Heal(t)
	if code := <-grown; code != 0 {
		t.Errorf("more partitions for a topic that was made meanwhile: %v", kerr.ErrorForCode(code))
	}
	if code := <-remade; code != 0 {
		t.Errorf("a topic that was deleted meanwhile, again: %v", kerr.ErrorForCode(code))
	}
}
