package api

import (
	"regexp"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// apiVersionsRow has no handler: Answer takes the key itself, as it is the one whose unknown versions get an answer, and
// whose answer is the table of rows.
var apiVersionsRow = row{key: wire.KeyApiVersions, min: 0, max: 4}

// apiVersionsSoftwareFrom is the first version that names the client's software (KIP-511).
const apiVersionsSoftwareFrom wire.APIVersion = 3

// answerAPIVersions answers a version that is not known in the layout of version 0, with the one row that the client needs
// to ask again. The connection stays open.
func answerAPIVersions(b Broker, r *Request) ([]byte, error) {
	resp := kmsg.NewPtrApiVersionsResponse()
	if v := r.Header.Version; v < apiVersionsRow.min || v > apiVersionsRow.max {
		resp.ErrorCode = int16(wire.UnsupportedVersion)
		resp.ApiKeys = []kmsg.ApiVersionsResponseApiKey{apiVersionsRow.advertised()}
		r.setThrottle(resp)
		return resp.AppendTo(nil), nil
	}
	req, err := decode(r.Header, r.Body)
	if err != nil {
		return nil, err
	}
	resp.SetVersion(int16(r.Header.Version))
	fillAPIVersions(b, resp, r, req.(*kmsg.ApiVersionsRequest))
	r.setThrottle(resp)
	return resp.AppendTo(nil), nil
}

func fillAPIVersions(b Broker, resp *kmsg.ApiVersionsResponse, r *Request, req *kmsg.ApiVersionsRequest) {
	if r.Header.Version >= apiVersionsSoftwareFrom {
		if !softwareWords.MatchString(req.ClientSoftwareName) || !softwareWords.MatchString(req.ClientSoftwareVersion) {
			resp.ErrorCode = int16(wire.InvalidRequest)
			return
		}
		r.Client.Software, r.Client.SoftwareVersion = req.ClientSoftwareName, req.ClientSoftwareVersion
	}
	for i := range rows {
		if rows[i].hidden || rows[i].clustered && !b.Clustered() {
			continue
		}
		resp.ApiKeys = append(resp.ApiKeys, rows[i].advertised())
	}
	if r.Header.Version >= apiVersionsFeaturesFrom {
		fillFeatures(b, resp, r.Header.Version)
	}
}

// apiVersionsFeaturesFrom is the first version that tells of features (KIP-584).
const apiVersionsFeaturesFrom wire.APIVersion = 3

// softwareWords is Kafka's rule for the name and version of client software (ApiVersionsRequest.isValid).
var softwareWords = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// advertised is the row as clients see it. Produce starts at 0: librdkafka turns compression off where it does not
// (KAFKA-18659).
func (r *row) advertised() kmsg.ApiVersionsResponseApiKey {
	k := kmsg.NewApiVersionsResponseApiKey()
	k.ApiKey, k.MinVersion, k.MaxVersion = int16(r.key), int16(r.min), int16(r.max)
	if r.key == wire.KeyProduce {
		k.MinVersion = 0
	}
	return k
}
