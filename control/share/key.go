package share

import (
	"strconv"
	"strings"

	"github.com/ringmill/ringmill/wire"
)

// Key names one share partition: a partition as one share group sees it.
type Key struct {
	Group     string
	Topic     wire.TopicID
	Partition wire.PartitionIndex
}

// String is the form that clients name a share coordinator by, group:topicId:partition
// (SharePartitionKey.asCoordinatorKey). Its hash says which coordinator has the key.
func (k Key) String() string {
	return k.Group + ":" + k.Topic.String() + ":" + strconv.Itoa(int(k.Partition))
}

// ParseKey reads the form that String writes. As in Kafka, blanks around the group do not count, and colons may follow the
// partition.
func ParseKey(s string) (k Key, ok bool) {
	parts := strings.Split(strings.TrimRight(s, ":"), ":")
	if len(parts) != 3 {
		return k, false
	}
	k.Group = strings.TrimSpace(parts[0])
	if k.Topic, ok = wire.ParseUUID(parts[1]); !ok || k.Group == "" {
		return Key{}, false
	}
	partition, err := strconv.ParseInt(parts[2], 10, 32)
	k.Partition = wire.PartitionIndex(partition)
	return k, err == nil
}
