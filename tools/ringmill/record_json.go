package main

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// jsonRecord is one line of consume -o json.
type jsonRecord struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Timestamp int64  `json:"timestamp"` // milliseconds since 1970
	jsonKey
	jsonValue
	Headers []jsonHeader `json:"headers,omitempty"`
}

// A key or value is text where it is UTF-8, base64 where it is not, and left out where it is null.
type jsonKey struct {
	Key       *string `json:"key,omitempty"`
	KeyBase64 *string `json:"keyBase64,omitempty"`
}

type jsonValue struct {
	Value       *string `json:"value,omitempty"`
	ValueBase64 *string `json:"valueBase64,omitempty"`
}

type jsonHeader struct {
	Name string `json:"name"`
	jsonValue
}

func recordAsJSON(r *kgo.Record) jsonRecord {
	j := jsonRecord{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli()}
	j.Key, j.KeyBase64 = textOrBase64(r.Key)
	j.Value, j.ValueBase64 = textOrBase64(r.Value)
	for _, h := range r.Headers {
		header := jsonHeader{Name: h.Key}
		header.Value, header.ValueBase64 = textOrBase64(h.Value)
		j.Headers = append(j.Headers, header)
	}
	return j
}

func textOrBase64(b []byte) (text, encoded *string) {
	switch {
	case b == nil:
		return nil, nil
	case utf8.Valid(b):
		s := string(b)
		return &s, nil
	}
	s := base64.StdEncoding.EncodeToString(b)
	return nil, &s
}
