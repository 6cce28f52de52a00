package main

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	access    accessFlags
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
	f.access.register(cmd)
}

// connect returns a client that a node has answered to. The caller closes it.
func (f *clientFlags) connect(ctx context.Context, opts ...kgo.Opt) (*kgo.Client, error) {
	access, err := f.access.options(f.timeout)
	if err != nil {
		return nil, &usageError{err, "ringmill"}
	}
	client, err := kgo.NewClient(append(append([]kgo.Opt{
		kgo.SeedBrokers(strings.Split(f.bootstrap, ",")...),
		kgo.ClientID("ringmill"),
		kgo.RetryTimeout(f.timeout),
		kgo.RequestTimeoutOverhead(f.timeout),
	}, access...), opts...)...)
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
		return nil, fmt.Errorf("no node answers at %s: %w; start one with ringmill serve, or name one with --bootstrap", f.bootstrap, innermost(err))
	}
	return client, nil
}

// answered takes the offsets that leaders told. A partition without a leader, or whose leader does not answer, is not among them: what is
// known of the others is not lost with it, for it is then that people ask.
func answered(offsets kadm.ListedOffsets, err error) (kadm.ListedOffsets, error) {
	var shards *kadm.ShardErrors
	if errors.As(err, &shards) {
		return offsets, nil
	}
	return offsets, cause(err)
}

// errNoController is the cause of a request that only a controller answers, where there is none.
var errNoController = errors.New("no node knows a controller; ringmill cluster status says which nodes do not answer")

// noController is what kgo says of that, by an error that it has no name for.
const noController = "broker replied that the controller broker is not available"

// cause is what the operating system or the node said, without the layers of the client, and where a connection failed the address.
func cause(err error) error {
	inner := innermost(err)
	var connection *net.OpError
	switch {
	case inner == nil:
		return nil
	case inner.Error() == noController:
		return errNoController
	case errors.As(err, &connection) && connection.Addr != nil:
		return fmt.Errorf("%s: %w", connection.Addr, inner)
	}
	return inner
}

// innermost is the error that the others are around; of the nodes that were asked that of the first.
func innermost(err error) error {
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
