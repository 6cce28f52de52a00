package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// seeds are well-formed bodies of every key that has a handler, in their oldest and newest versions.
func seeds(f *testing.F) {
	for i := range rows {
		r := &rows[i]
		if r.key == wire.KeyProduce || r.key == wire.KeyFetch {
			continue
		}
		for _, v := range []wire.APIVersion{r.min, r.max} {
			req := kmsg.RequestForKey(int16(r.key))
			req.SetVersion(int16(v))
			f.Add(int16(r.key), int16(v), req.AppendTo(nil))
		}
	}
	for _, req := range []kmsg.Request{
		metadataRequest(true, "v", "w", "a b"), createRequest(false, topicToCreate("v", 3, 1, "retention.ms", "5"), topicToCreate("v", 2, 1)),
		deleteRequest(byName("v"), byID(wire.TopicID{1})), growRequest(false, grow("v", 4, []int32{1})),
		listOffsetsRequest(offsetQuery(0, -3, 0), offsetQuery(1, 2000, -1)), commitRequest("g", commitTopic("v", 0, 7)),
		describeConfigsRequest(kmsg.ConfigResourceTypeTopic, "v", "retention.ms"), describeConfigsRequest(kmsg.ConfigResourceTypeBroker, ""),
		alterRequest(kmsg.ConfigResourceTypeTopic, "v", change{"cleanup.policy", add, "compact"}),
		alterRequest(kmsg.ConfigResourceTypeBroker, "1", change{"log.retention.ms", set, "9"}),
		describeTopicsRequest(1, "v", 0, "v"), apiVersionsRequest("x", "1"),
	} {
		r, _ := Served(wire.APIKey(req.Key()))
		req.SetVersion(int16(r.Max))
		f.Add(req.Key(), int16(r.Max), req.AppendTo(nil))
	}
}

// FuzzAnswer: whatever the bytes, there is an error or an answer that a client can decode, and no panic.
func FuzzAnswer(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		h := wire.RequestHeader{Key: wire.APIKey(key), Version: wire.APIVersion(version)}
		r, known := Served(h.Key)
		if !known || h.Key == wire.KeyProduce || h.Key == wire.KeyFetch {
			return
		}
		if !r.Contains(h.Version) && h.Key != wire.KeyApiVersions {
			Unsupported(h, body)
			return
		}
		b := newFakeBroker(t)
		b.withTopic(t, "v", 2)
		b.OffsetsTopicReady()
		answer, err := Answer(nil, b, &Request{Header: h, Body: body})
		if err != nil || !r.Contains(h.Version) {
			return
		}
		resp := kmsg.ResponseForKey(key)
		resp.SetVersion(version)
		if err := resp.ReadFrom(answer); err != nil {
			t.Fatalf("%s version %d: %v", h.Key, version, err)
		}
	})
}

// FuzzUnsupported: versions outside of what is served.
func FuzzUnsupported(f *testing.F) {
	f.Add(int16(0), int16(1), oldProduce(-1))
	f.Add(int16(8), int16(0), []byte{0, 1, 'g', 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, key, version int16, body []byte) {
		h := wire.RequestHeader{Key: wire.APIKey(key), Version: wire.APIVersion(version)}
		answer, ok := Unsupported(h, body)
		if !ok || key == 0 {
			return
		}
		resp := kmsg.ResponseForKey(key)
		resp.SetVersion(version)
		if err := resp.ReadFrom(answer); err != nil {
			t.Fatalf("%s version %d: %v", h.Key, version, err)
		}
		VersionCure(h)
	})
}
