package image

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrNewerFormat means that a record's type or version is not known: the file was written by a newer ringmill, and going on
// without the record would lose what it says.
var ErrNewerFormat = errors.New("the record is of a type or version that this release does not know")

// recordVersion is the version of every record type so far.
const recordVersion = 0

// appendRecord appends the value that stands for r in the file, see FORMAT.md.
func appendRecord(dst []byte, r Record) []byte {
	if p, ok := r.(PartitionRecord); ok {
		return appendPartition(dst, &p)
	}
	return appendJSON(dst, r)
}

func appendJSON(dst []byte, r Record) []byte {
	out := bytes.NewBuffer(dst)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Type    string `json:"type"`
		Version int    `json:"version"`
		Data    Record `json:"data"`
	}{r.kind(), recordVersion, r})
	if err != nil {
		panic("BUG: a record cannot be encoded: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// readRecord reads what appendRecord writes. It says ErrNewerFormat for what it does not know, and refuses unknown fields.
func readRecord(value []byte) (Record, error) {
	if r, ok := readPartition(value); ok {
		return r, nil
	}
	return readJSON(value)
}

func readJSON(value []byte) (Record, error) {
	var envelope struct {
		Type    string          `json:"type"`
		Version int             `json:"version"`
		Data    json.RawMessage `json:"data"`
	}
	if err := unmarshalStrict(value, &envelope); err != nil {
		return nil, err
	}
	read, ok := recordReaders[envelope.Type]
	if !ok || envelope.Version != recordVersion {
		return nil, fmt.Errorf("%w: %q version %d", ErrNewerFormat, envelope.Type, envelope.Version)
	}
	return read(envelope.Data)
}

var recordReaders = map[string]func([]byte) (Record, error){
	kindTopic:       readAs[TopicRecord],
	kindRemoveTopic: readAs[RemoveTopicRecord],
	kindPartitions:  readAs[PartitionsRecord],
	kindConfig:      readConfig,
	kindProducerIDs: readAs[ProducerIDsRecord],
	kindCluster:     readAs[ClusterRecord],
	kindFeature:     readAs[FeatureLevelRecord],
	kindClientQuota: readAs[ClientQuotaRecord],
	kindLeaderEpoch: readAs[LeaderEpochRecord],

	kindSCRAM:       readAs[UserSCRAMCredentialRecord],
	kindRemoveSCRAM: readAs[RemoveUserSCRAMCredentialRecord],

	kindACL:       readAs[AccessControlEntryRecord],
	kindRemoveACL: readAs[RemoveAccessControlEntryRecord],

	kindBroker:       readAs[BrokerRecord],
	kindRemoveBroker: readAs[RemoveBrokerRecord],
	kindPartition:    readAs[PartitionRecord],
}

func readAs[R Record](data []byte) (Record, error) {
	var r R
	if err := unmarshalStrict(data, &r); err != nil {
		return nil, err
	}
	return r, nil
}

// readConfig reads a ConfigRecord; one without a resource type does not get as far as its type's own reader.
func readConfig(data []byte) (Record, error) {
	r, err := readAs[ConfigRecord](data)
	if err == nil && !r.(ConfigRecord).Resource.Type.known() {
		return nil, ErrResourceType
	}
	return r, err
}

// unmarshalStrict refuses unknown fields and anything after the value.
func unmarshalStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}
