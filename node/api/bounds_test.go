package api

import (
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestAnswersAreBoundedByRequests: a request that names the same thing as often as 256 KiB allow is answered with no more
// than a few times its length, and takes no more memory than kmsg's form of it (32 times, at worst) and as much again.
func TestAnswersAreBoundedByRequests(t *testing.T) {
	const n = 40_000
	repeat := func(element string) (out []string) {
		for range n {
			out = append(out, element)
		}
		return out
	}
	metadata := metadataRequest(true, repeat("v")...)
	describe := describeTopicsRequest(1<<30, "", 0, repeat("v")...)
	groups := kmsg.NewPtrDescribeGroupsRequest()
	groups.Groups = repeat("g")
	deletions := kmsg.NewPtrDeleteGroupsRequest()
	deletions.Groups = repeat("g")
	fetch := kmsg.NewPtrOffsetFetchRequest()
	fetch.Groups = make([]kmsg.OffsetFetchRequestGroup, n)
	list := listOffsetsRequest(make([]kmsg.ListOffsetsRequestTopicPartition, n)...)
	topics := createRequest(true, make([]kmsg.CreateTopicsRequestTopic, n)...)
	for _, c := range []struct {
		version int16
		req     kmsg.Request
	}{{13, metadata}, {0, describe}, {6, groups}, {2, deletions}, {9, fetch}, {10, list}, {7, topics}} {
		b := newFakeBroker(t)
		b.withTopic(t, "v", 100)
		b.OffsetsTopicReady()
		ask[*kmsg.OffsetCommitResponse](t, b, 9, commitRequest("g", commitTopic("v", 0, 1, 2)))
		c.req.SetVersion(c.version)
		sent := len(c.req.AppendTo(nil))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resp := ask[kmsg.Response](t, b, c.version, c.req)
		runtime.ReadMemStats(&after)
		if got := len(resp.AppendTo(nil)); got > 4*sent+1<<16 {
			t.Errorf("%T: %d bytes for %d", resp, got, sent)
		}
		// What ask itself encodes and decodes is in here too.
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(128*sent+4<<20) {
			t.Errorf("%T: %d bytes allocated for %d", resp, used, sent)
		}
	}
}
