package api

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

func apiVersionsRequest(software, version string) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = software, version
	return req
}

// advertisement is what this node serves, as clients are told. A row that comes or goes must be meant.
const advertisement = `0:0-13 1:0-18 2:1-10 3:0-13 8:2-9 9:1-9 10:0-6 11:0-9 12:0-4 13:0-5 14:0-5 15:0-6 16:0-5 18:0-4 19:2-7 20:1-6 21:0-2 ` +
	`22:0-5 23:2-4 24:0-5 25:0-4 26:0-5 27:1-1 28:0-5 29:1-3 30:1-3 31:1-3 32:1-4 33:0-2 34:1-2 35:1-4 37:0-3 42:0-2 43:0-2 44:0-1 45:0-1 46:0-0 47:0-0 48:0-1 49:0-1 50:0-0 51:0-0 55:0-2 57:0-2 60:0-2 61:0-0 65:0-0 66:0-2 68:0-1 69:0-1 74:0-1 75:0-0 ` +
	`76:1-1 77:1-1 78:1-1 79:1-1 83:0-0 84:0-0 85:0-0 86:0-0 87:0-0 90:0-0 91:0-0 92:0-0`

func TestAPIVersionsTellsTheTable(t *testing.T) {
	b := newFakeBroker(t)
	for v := int16(0); v <= 4; v++ {
		got := ask[*kmsg.ApiVersionsResponse](t, b, v, apiVersionsRequest("x", "1"))
		var s []string
		for _, k := range got.ApiKeys {
			s = append(s, fmt.Sprintf("%d:%d-%d", k.ApiKey, k.MinVersion, k.MaxVersion))
		}
		if got.ErrorCode != 0 || strings.Join(s, " ") != advertisement {
			t.Errorf("version %d: %d %s", v, got.ErrorCode, strings.Join(s, " "))
		}
		supported, finalized, epoch := "", "", int64(-1)
		if v >= 3 { // version 3 does not tell of what begins at 0
			supported = "metadata.version:7-27"
			finalized, epoch = "group.version:1-1 transaction.version:2-2 share.version:1-1 metadata.version:27-27", int64(b.Image().Version())-1
		}
		if v >= 4 {
			supported = "group.version:0-1 transaction.version:0-2 share.version:0-1 metadata.version:7-27"
		}
		if told := featuresOf(got); told != [2]string{supported, finalized} || got.FinalizedFeaturesEpoch != epoch {
			t.Errorf("version %d: %v, epoch %d", v, told, got.FinalizedFeaturesEpoch)
		}
	}
}

// featuresOf prints the supported and the finalized features.
func featuresOf(r *kmsg.ApiVersionsResponse) (told [2]string) {
	var supported, finalized []string
	for _, f := range r.SupportedFeatures {
		supported = append(supported, fmt.Sprintf("%s:%d-%d", f.Name, f.MinVersion, f.MaxVersion))
	}
	for _, f := range r.FinalizedFeatures {
		finalized = append(finalized, fmt.Sprintf("%s:%d-%d", f.Name, f.MinVersionLevel, f.MaxVersionLevel))
	}
	return [2]string{strings.Join(supported, " "), strings.Join(finalized, " ")}
}

// TestAPIVersionsStayWithinWhatIsDefined: what is served must have a schema in wire's table.
func TestAPIVersionsStayWithinWhatIsDefined(t *testing.T) {
	for i := range rows {
		r := &rows[i]
		defined, ok := wire.LookupAPI(r.key)
		if !ok || !defined.Contains(r.min) || !defined.Contains(r.max) || i > 0 && r.key <= rows[i-1].key {
			t.Errorf("%s %d-%d", r.key, r.min, r.max)
		}
	}
}

func TestServed(t *testing.T) {
	if r, ok := Served(wire.KeyProduce); !ok || r.Min != 3 || r.Max != 13 || r.Name != "Produce" {
		t.Errorf("%+v", r)
	}
	for _, key := range []wire.APIKey{-1, 7, 999, 32767, -32768} {
		if _, ok := Served(key); ok {
			t.Errorf("%d is served", key)
		}
	}
}

// TestAPIVersionsOfAnUnknownVersion has the bytes of Apache Kafka 4.1.1's answer to version 9: the layout of version 0,
// whatever was asked for.
func TestAPIVersionsOfAnUnknownVersion(t *testing.T) {
	for _, v := range []wire.APIVersion{5, 9, 32767, -1} {
		r := &Request{Header: wire.RequestHeader{Key: wire.KeyApiVersions, Version: v}, Body: []byte{1, 2, 3}}
		got, err := Answer(nil, newFakeBroker(t), r)
		if want := []byte{0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4}; err != nil || !bytes.Equal(got, want) {
			t.Errorf("version %d: %v %v", v, got, err)
		}
	}
}

func TestAPIVersionsChecksAndKeepsTheSoftware(t *testing.T) {
	b := newFakeBroker(t)
	for _, c := range []struct {
		name, version string
		code          int16
	}{
		{"", "1", 42}, {"a", "", 42}, {"a b", "1", 42}, {"-a", "1", 42}, {"a-", "1", 42}, {"é", "1", 42}, {"a\n", "1", 42},
		{"a.b-c", "1.0-SNAPSHOT", 0}, {"a", "1", 0},
	} {
		req := apiVersionsRequest(c.name, c.version)
		req.SetVersion(3)
		r := &Request{Header: wire.RequestHeader{Key: wire.KeyApiVersions, Version: 3}, Body: req.AppendTo(nil)}
		body, err := Answer(nil, b, r)
		if err != nil {
			t.Fatal(err)
		}
		var resp kmsg.ApiVersionsResponse
		resp.SetVersion(3)
		if err := resp.ReadFrom(body); err != nil || resp.ErrorCode != c.code {
			t.Errorf("%q %q: %d %v", c.name, c.version, resp.ErrorCode, err)
		}
		if kept := r.Client.Software == c.name && c.name != ""; kept != (c.code == 0) || (len(resp.ApiKeys) > 0) != (c.code == 0) {
			t.Errorf("%q %q: kept %+v, %d keys", c.name, c.version, r.Client, len(resp.ApiKeys))
		}
	}
}

func TestAnswerRefusesBytesThatAreNoRequest(t *testing.T) {
	for i := range rows {
		r := &rows[i]
		if r.handle == nil {
			continue
		}
		// A body of one byte is none of these requests in any version: each begins with a string, an array or a number.
		req := &Request{Header: wire.RequestHeader{Key: r.key, Version: r.max}, Body: []byte{0xff}}
		if _, err := Answer(nil, newFakeBroker(t), req); err == nil || !strings.Contains(err.Error(), r.key.String()) {
			t.Errorf("%s: %v", r.key, err)
		}
	}
}
