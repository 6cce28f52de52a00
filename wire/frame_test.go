package wire

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestReadRequestHeader(t *testing.T) {
	for _, c := range []struct {
		name, frame string
		want        RequestHeader
		body        string
	}{
		{"v1", "0000 0002 00000007 0003 616263 ff", RequestHeader{KeyProduce, 2, 7, []byte("abc")}, "ff"},
		{"v1, null client", "0000 0002 00000007 ffff ff", RequestHeader{KeyProduce, 2, 7, nil}, "ff"},
		{"v1, empty client", "0000 0002 00000007 0000", RequestHeader{KeyProduce, 2, 7, []byte{}}, ""},
		{"v2", "0000 0009 00000007 0003 616263 00 ff", RequestHeader{KeyProduce, 9, 7, []byte("abc")}, "ff"},
		{"v2, tags", "0000 0009 00000007 ffff 02 00 03 010203 7f 00 ff", RequestHeader{KeyProduce, 9, 7, nil}, "ff"},
		{"version that nobody defined", "0000 0063 00000007 ffff 00 ff", RequestHeader{KeyProduce, 99, 7, nil}, "ff"},
		{"unknown key", "03e7 0000 00000007 ffff ff", RequestHeader{999, 0, 7, nil}, "ff"},
		{"negative key", "ffff 0000 00000007 ffff ff", RequestHeader{-1, 0, 7, nil}, "ff"},
		{"ApiVersions 5", "0012 0005 00000007 0001 61 00 ff", RequestHeader{KeyApiVersions, 5, 7, []byte("a")}, "ff"},
		{"ApiVersions of another layout", "0012 0063 00000007 7fff 61", RequestHeader{KeyApiVersions, 99, 7, nil}, ""},
		{"ApiVersions, 8 bytes alone", "0012 0063 00000007", RequestHeader{KeyApiVersions, 99, 7, nil}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, body, err := ReadRequestHeader(unhex(t, strings.ReplaceAll(c.frame, " ", "")))
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "header", got, c.want)
			if !bytes.Equal(body, unhex(t, c.body)) {
				t.Errorf("body %x", body)
			}
		})
	}
}

func TestReadRequestHeaderRefuses(t *testing.T) {
	for name, frame := range map[string]string{
		"empty": "", "7 bytes": "00000002000000", "no client": "000000020000000700", "client beyond end": "0000000200000007000361",
		"client below null": "0000000200000007fffe", "v2 without tags": "0000000900000007ffff",
		"tag beyond end": "0000000900000007ffff010005", "endless varint": "0000000900000007ffffffffffffff",
		"ApiVersions 4, cut": "0012000400000007",
	} {
		h, _, err := ReadRequestHeader(unhex(t, frame))
		var e *DecodeError
		if !errors.As(err, &e) || !errors.Is(err, ErrMalformed) || e.Message != "RequestHeader" {
			t.Errorf("%s: %v", name, err)
		}
		if len(frame) >= 16 && h.CorrelationID != 7 {
			t.Errorf("%s: correlation id %d", name, h.CorrelationID)
		}
	}
}

func TestResponseHeaderOfApiVersionsIsAlwaysShort(t *testing.T) {
	equalBytes(t, AppendResponseHeader(nil, KeyApiVersions, 4, 1), []byte{0, 0, 0, 1})
	equalBytes(t, AppendResponseHeader(nil, KeyMetadata, 9, 1), []byte{0, 0, 0, 1, 0})
	equalBytes(t, AppendResponseHeader(nil, KeyMetadata, 8, 1), []byte{0, 0, 0, 1})
	equalBytes(t, AppendResponseHeader(nil, 999, 8, 1), []byte{0, 0, 0, 1})
}

// Every prefix of a good request is refused, and none panics or reads beyond its end.
func TestTruncatedRequests(t *testing.T) {
	var p ProduceRequest
	goldenVersions(t, "produce_request.txt", func(t *testing.T, v APIVersion, src []byte) {
		for n := range src {
			if err := p.Read(src[:n:n], v); !errors.Is(err, ErrMalformed) {
				t.Errorf("%d of %d bytes: %v", n, len(src), err)
			}
		}
	})
	var f FetchRequest
	goldenVersions(t, "fetch_request.txt", func(t *testing.T, v APIVersion, src []byte) {
		for n := range src {
			if err := f.Read(src[:n:n], v); !errors.Is(err, ErrMalformed) {
				t.Errorf("%d of %d bytes: %v", n, len(src), err)
			}
		}
	})
}

func TestCountsThatLie(t *testing.T) {
	for name, c := range map[string]struct {
		v    APIVersion
		body string
	}{
		"2³¹-1 topics":          {3, "ffff ffff 00000001 7fffffff"},
		"2³²-2 topics, compact": {9, "00 ffff 00000001 ffffffff0f"},
		"topics -2":             {3, "ffff ffff 00000001 fffffffe"},
		"2³¹-1 partitions":      {3, "ffff ffff 00000001 00000001 0001 61 7fffffff"},
		"null topic name":       {3, "ffff ffff 00000001 00000001 ffff 00000000"},
		"records -2":            {3, "ffff ffff 00000001 00000001 0001 61 00000001 00000000 fffffffe 00"},
		"2³² tags":              {9, "00 ffff 00000001 01 ffffffff0f"},
	} {
		var p ProduceRequest
		body := unhex(t, strings.ReplaceAll(c.body, " ", ""))
		before := allocated()
		if err := p.Read(body, c.v); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if grown := allocated() - before; grown > 16<<10 {
			t.Errorf("%s: allocated %d bytes", name, grown)
		}
	}
}

// Topics without partitions are the densest way to make a reader allocate: 3 bytes each.
func TestElementsAreBounded(t *testing.T) {
	body := append([]byte{0, 0, 1, 0, 0, 0, 1}, appendUvarint(nil, ElementsMax+2)...)
	body = append(body, bytes.Repeat([]byte{1, 1, 0}, ElementsMax+1)...)
	var p ProduceRequest
	if err := p.Read(append(body, 0), 9); !errors.Is(err, ErrMalformed) || len(p.Topics) > ElementsMax {
		t.Errorf("%d topics, error %v", len(p.Topics), err)
	}
}

func TestAddPartition(t *testing.T) {
	var p, wantP ProduceResponse
	var f, wantF FetchResponse
	for range 2 { // the second time into used room
		p.Reset()
		f.Reset()
		wantP, wantF = ProduceResponse{}, FetchResponse{}
		for topic := range 5 {
			name := []byte{byte('a' + topic)}
			p.AddTopic(name, TopicID{})
			f.AddTopic(name, TopicID{})
			wt, wf := ProduceTopicResponse{Name: name}, FetchTopicResponse{Name: name}
			for i := range PartitionIndex(topic * 7) {
				pp, fp := FailedProduce(i, UnknownServerError, "why"), FailedFetch(i, UnknownServerError)
				p.AddPartition(pp)
				f.AddPartition(fp)
				wt.Partitions, wf.Partitions = append(wt.Partitions, pp), append(wf.Partitions, fp)
			}
			wantP.Topics, wantF.Topics = append(wantP.Topics, wt), append(wantF.Topics, wf)
		}
		equalBytes(t, p.AppendTo(nil, 9), wantP.AppendTo(nil, 9))
		got, _ := f.AppendTo(nil, 12, nil)
		want, _ := wantF.AppendTo(nil, 12, nil)
		equalBytes(t, got, want)
	}
}

// Large requests, however they are shaped, leave no more behind than elementsKept elements.
func TestLargeRequestsAreNotKept(t *testing.T) {
	var p ProduceRequest
	for round := range 20 {
		body := append([]byte{0, 0, 1, 0, 0, 0, 1}, appendUvarint(nil, uint32(round+2))...)
		body = append(body, bytes.Repeat([]byte{1, 1, 0}, round)...) // topics without partitions
		body = append(append(body, 1), appendUvarint(nil, 50_001)...)
		body = append(body, make([]byte, 50_000*6+2)...)
		if err := p.Read(body, 9); err != nil {
			t.Fatal(err)
		}
		equal(t, "partitions", len(p.Topics[round].Partitions), 50_000)
	}
	if err := p.Read(golden(t, "produce_request.txt"), 13); err != nil || cap(p.partitions) > elementsKept || cap(p.Topics) > elementsKept {
		t.Errorf("room for %d partitions, error %v", cap(p.partitions), err)
	}
}

func TestRefuse(t *testing.T) {
	var p ProduceRequest
	if err := p.Read(unhex(t, "ffff00000001"+"00000001"+"000161"+"00000002"+"00000000"+"ffffffff"+"00000005"+"ffffffff"), 2); err != nil {
		t.Fatal(err)
	}
	var pr ProduceResponse
	for range 2 { // the second time into used slices
		pr.Refuse(&p, UnsupportedVersion)
		// One topic "a", partitions 0 and 5: error 35, base offset -1, append time -1; throttle 0.
		equalBytes(t, pr.AppendTo(nil, 2), unhex(t, "00000001"+"000161"+"00000002"+
			"00000000"+"0023"+"ffffffffffffffff"+"ffffffffffffffff"+
			"00000005"+"0023"+"ffffffffffffffff"+"ffffffffffffffff"+"00000000"))
	}
	f := FetchRequest{Topics: []FetchTopic{{Name: []byte("a"), Partitions: []FetchPartition{{Index: 5}}}}}
	var fr FetchResponse
	for range 2 {
		fr.Refuse(&f, UnknownTopicOrPartition)
		dst, pieces := fr.AppendTo(nil, 0, nil)
		equalBytes(t, dst, unhex(t, "00000001"+"000161"+"00000001"+"00000005"+"0003"+"ffffffffffffffff"+"00000000"))
		equal(t, "pieces", len(pieces), 0)
	}
}

func TestTopicID(t *testing.T) {
	id := TopicID{0xff, 1, 2}
	text, _ := id.MarshalText()
	var back TopicID
	if err := back.UnmarshalText(text); err != nil || back != id || id.IsZero() || !(TopicID{}).IsZero() {
		t.Errorf("%s came back as %s, error %v", id, back, err)
	}
	for _, bad := range []string{"", "AAAA", "this is not base64 !!!", string(text) + "A"} {
		if back.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
