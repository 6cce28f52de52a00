package harness

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// kafkaCommand becomes Apache Kafka in the foreground, formatting its directory on the first start.
func (n *Node) kafkaCommand() (argv, env []string, err error) {
	env = []string{
		fmt.Sprintf("PORT=%d", n.options.Port), "NAME=kafka", "FOREGROUND=1", "HEAP=512m",
		"KAFKA_DATA=" + n.Dir, "EXTRA=" + strings.Join(n.settings(), " "),
	}
	return []string{filepath.Join(Root(), "tests", "peers", "kafka-up.sh")}, env, nil
}

// answers returns nil once the node answers a Metadata request.
func (n *Node) answers(ctx context.Context) error {
	client, err := kgo.NewClient(append(n.Seeds(), kgo.RetryTimeout(0), kgo.RequestRetries(0))...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}
