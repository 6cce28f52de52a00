package wire

import "encoding/binary"

// RequestHeader is what precedes every request's body. Three layouts exist: v0 (ControlledShutdown 0 alone, which no
// longer has a server), v1 with a client id, and v2, for flexible versions, with tagged fields after it (KIP-482):
//
//	v1  | api_key int16 | api_version int16 | correlation_id int32 | client_id nullable string |
//	v2  | the same, client_id still with its int16 length                      | tagged fields |
type RequestHeader struct {
	Key           APIKey
	Version       APIVersion
	CorrelationID CorrelationID
	ClientID      []byte // a view of the frame; nil if null
}

// requestHeaderFixed is the part of a header that every version has, in bytes.
const requestHeaderFixed = 8

// ReadRequestHeader splits a frame, given without its 4-byte length, into its header and its body, both views.
//
// The header is returned with key, version and correlation id whenever those 8 bytes are there, even beside an error.
// A key or a version that is not defined is no error here: whether it is served is the node's decision (LookupAPI). An
// unknown key is read as v1. The header of an ApiVersions request of a version that is not defined may have any layout
// after its first 8 bytes, so for it they are read if they can be, and a fault there is not reported: the answer, error
// 35 in the v0 layout, needs the correlation id alone (KIP-511).
func ReadRequestHeader(frame []byte) (h RequestHeader, body []byte, err error) {
	if len(frame) < requestHeaderFixed {
		return h, nil, &DecodeError{Message: "RequestHeader", Position: len(frame), Problem: "ends early"}
	}
	h.Key = APIKey(binary.BigEndian.Uint16(frame))
	h.Version = APIVersion(binary.BigEndian.Uint16(frame[2:]))
	h.CorrelationID = CorrelationID(binary.BigEndian.Uint32(frame[4:]))

	api, _ := LookupAPI(h.Key)
	r := reader{src: frame, at: requestHeaderFixed}
	h.ClientID = r.nullableString() // int16 length in v2 too, so that a v1 reader finds it
	r.flexible = api.Flexible(h.Version) && api.Name != ""
	r.skipTags()
	if r.failed() && h.Key == KeyApiVersions && !api.Contains(h.Version) {
		return h, nil, nil
	}
	return h, frame[r.at:], r.err("RequestHeader", h.Version)
}

// AppendRequestHeader appends a request's header, without the frame's length: v2 where version is flexible, else v1. A
// nil clientID is sent as null.
func AppendRequestHeader(dst []byte, h RequestHeader) []byte {
	w := writer{dst: dst}
	w.int16(int16(h.Key))
	w.int16(int16(h.Version))
	w.int32(int32(h.CorrelationID))
	if h.ClientID == nil {
		w.int16(-1)
	} else {
		w.string(h.ClientID)
	}
	api, ok := LookupAPI(h.Key)
	w.flexible = ok && api.Flexible(h.Version)
	w.noTags()
	return w.dst
}

// AppendResponseHeader appends the header of a response, without the frame's length: the correlation id, and an empty
// tagged-field section where the version is flexible. ApiVersions is always answered with the short form, so that a
// client can read the answer before it knows what the server speaks.
func AppendResponseHeader(dst []byte, key APIKey, version APIVersion, corr CorrelationID) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(corr))
	if api, ok := LookupAPI(key); ok && api.Flexible(version) && key != KeyApiVersions {
		dst = append(dst, 0)
	}
	return dst
}
