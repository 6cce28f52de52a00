package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// clientFlags are those of every command that is a Kafka client.
type clientFlags struct {
	bootstrap string
	timeout   time.Duration
}

const bootstrapVariable = "RINGMILL_BOOTSTRAP"

// register adds the flags to cmd and everything below it.
func (f *clientFlags) register(cmd *cobra.Command) {
	address := os.Getenv(bootstrapVariable)
	if address == "" {
		address = "127.0.0.1:9092"
	}
	flags := cmd.PersistentFlags()
	flags.StringVarP(&f.bootstrap, "bootstrap", "b", address, "`host:port,...` of nodes to connect to first; environment "+bootstrapVariable)
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long a node may take to answer")
	_ = cmd.RegisterFlagCompletionFunc("bootstrap", cobra.NoFileCompletions)
	_ = cmd.RegisterFlagCompletionFunc("timeout", cobra.NoFileCompletions)
}

// connect returns a client that a node has answered to. The caller closes it.
func (f *clientFlags) connect(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(f.bootstrap, ",")...),
		kgo.ClientID("ringmill"),
		kgo.DialTimeout(f.timeout),
		kgo.RetryTimeout(f.timeout),
		kgo.RequestTimeoutOverhead(f.timeout),
	}, opts...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	if err := client.Ping(ctx); err != nil {
		client.Close()
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, fmt.Errorf("no node of Kafka's protocol answers at %s within %v; raise --timeout, or name another with --bootstrap", f.bootstrap, f.timeout)
		}
		return nil, fmt.Errorf("no node answers at %s: %w; start one with ringmill serve, or name one with --bootstrap", f.bootstrap, cause(err))
	}
	return client, nil
}

// cause is the innermost error: what the operating system or the node said, without the layers of the client.
func cause(err error) error {
	var shards *kadm.ShardErrors
	if errors.As(err, &shards) && len(shards.Errs) > 0 {
		err = shards.Errs[0].Err
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// requests runs one command's requests with a client, within the timeout.
func (a *app) requests(ctx context.Context, do func(context.Context, *kgo.Client) error) error {
	client, err := a.client.connect(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, a.client.timeout)
	defer cancel()
	return do(ctx, client)
}

// admin is requests with an admin client.
func (a *app) admin(ctx context.Context, do func(context.Context, *kadm.Client) error) error {
	return a.requests(ctx, func(ctx context.Context, client *kgo.Client) error {
		admin := kadm.NewClient(client)
		admin.SetTimeoutMillis(int32(min(a.client.timeout.Milliseconds(), 1<<30)))
		return do(ctx, admin)
	})
}

// refused is what a node answered about a topic, group or partition: "topic x: UNKNOWN_TOPIC_OR_PARTITION: why".
func refused(noun, name string, err error, message string) error {
	var code *kerr.Error
	if errors.As(err, &code) {
		if message == "" {
			message = code.Description
		}
		return fmt.Errorf("%s %s: %s: %s", noun, name, code.Message, message)
	}
	return fmt.Errorf("%s %s: %w", noun, name, err)
}
