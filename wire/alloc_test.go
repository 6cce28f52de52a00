package wire

import (
	"runtime"
	"testing"
)

// allocated is the bytes that the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// hotPaths are the calls that every request makes; in a steady state none of them allocates.
func hotPaths(t testing.TB) map[string]func() {
	produce, fetch := golden(t, "produce_request.txt"), golden(t, "fetch_request.txt")
	fetchResponse := golden(t, "fetch_response.txt")
	batch := batchesOf(t, readCaptured(t, "java-none.log"))[0]
	packed := batchesOf(t, readCaptured(t, "java-snappy.log"))[0]
	header := AppendRequestHeader(nil, RequestHeader{Key: KeyProduce, Version: 13, ClientID: []byte("client")})
	var (
		pr      ProduceRequest
		fr      FetchRequest
		answer  FetchResponseView
		builder BatchBuilder
		dec     Decompressor
		dst     []byte
		pieces  []FetchPiece
	)
	if pr.Read(produce, 13) != nil || fr.Read(fetch, 18) != nil {
		t.Fatal("golden requests do not read")
	}
	produced := ProduceResponse{Topics: []ProduceTopicResponse{{Name: []byte("orders"), Partitions: make([]ProducePartitionResponse, 10)}}}
	fetched := FetchResponse{Topics: []FetchTopicResponse{{Name: []byte("orders"), Partitions: make([]FetchPartitionResponse, 10)}}}
	for i := range fetched.Topics[0].Partitions {
		fetched.Topics[0].Partitions[i].RecordsLength = 100
	}
	var refused ProduceResponse
	var refusedFetch FetchResponse
	rec := Record{Key: []byte("key"), Value: make([]byte, 100)}
	return map[string]func(){
		"ReadRequestHeader":      func() { ReadRequestHeader(header) },
		"AppendResponseHeader":   func() { dst = AppendResponseHeader(dst[:0], KeyFetch, 18, 1) },
		"ProduceRequest.Read":    func() { pr.Read(produce, 13) },
		"FetchRequest.Read":      func() { fr.Read(fetch, 18) },
		"FetchRequest.Append":    func() { dst = fr.AppendTo(dst[:0], 18) },
		"FetchResponseView.Read": func() { answer.Read(fetchResponse, 18) },
		"ProduceResponse.Append": func() { dst = produced.AppendTo(dst[:0], 13) },
		"FetchResponse.Append":   func() { dst, pieces = fetched.AppendTo(dst[:0], 18, pieces[:0]) },
		"ProduceResponse.Refuse": func() { refused.Refuse(&pr, UnsupportedVersion) },
		"FetchResponse.Refuse":   func() { refusedFetch.Refuse(&fr, UnknownTopicID) },
		"ReadRecordBatch+Check":  func() { b, _, _ := ReadRecordBatch(batch); b.Check() },
		"SetAppendTime":          func() { batch.SetAppendTime(5) },
		"Records":                func() { batch.FindMaxTimestamp(nil) },
		"Records of snappy":      func() { packed.FindMaxTimestamp(&dec) },
		"BatchBuilder": func() {
			builder.Reset(dst[:0], BatchHeader{})
			builder.Add(rec)
			dst = builder.Finish()
		},
		"ErrorCode.String": func() { _ = UnknownTopicID.String() },
		"LookupAPI":        func() { LookupAPI(KeyFetch) },
	}
}

// golden gives the newest version's bytes.
func golden(t testing.TB, name string) []byte {
	lines := goldenLines(t, name)
	return unhex(t, lines[len(lines)-1][1])
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	// The slice of a record's headers belongs to the iterator, and grows to two.
	allowed := map[string]float64{"Records": 2, "Records of snappy": 2}
	for name, f := range hotPaths(t) {
		f()
		if n := testing.AllocsPerRun(100, f); n > allowed[name] {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkHotPaths(b *testing.B) {
	for name, f := range hotPaths(b) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f()
			}
		})
	}
}
