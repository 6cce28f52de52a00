package harness

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Patience bounds every wait for a state that is on its way. It is far beyond what a loaded machine takes; nothing is measured by it.
const Patience = 4 * time.Minute

// Eventually checks again and again until check returns nil; the last error is the test's when Patience has ended. The context ends then.
func Eventually(tb testing.TB, what string, check func(context.Context) error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) { // soon for what is quick, seldom for what is dear
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			tb.Fatalf("%s: not within %v: %v", what, Patience, err)
		case <-time.After(pause):
		}
	}
}

var errNotYet = errors.New("it does not hold")

// Await is Eventually for a condition that has no more to say.
func Await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	Eventually(tb, what, func(context.Context) error {
		if !holds() {
			return errNotYet
		}
		return nil
	})
}

// Ask gives the node's answer to a request that may arrive twice. Its error codes are the caller's to judge, errors of the transport
// are nobody's: see Asked.
func Ask[R kmsg.Response](tb testing.TB, n *Node, req kmsg.Request) R {
	tb.Helper()
	return asked(tb, n, kmsg.NameForKey(req.Key()), func(ctx context.Context, client *kgo.Client) (R, error) {
		answer, err := client.Request(ctx, req)
		if err != nil {
			var none R
			return none, err
		}
		return answer.(R), nil
	})
}

// Asked gives what ask returns without an error of the transport or one that Kafka calls retriable, neither its own nor one of a part of
// the answer: kadm tells of a topic that a node has not heard of yet, or of a transaction whose marker is on its way, in the answer alone.
// Each attempt has a client of its own: a client that a test holds over a kill has connections that died with it, and franz-go repeats
// little of what meets one of them (FindCoordinator, which goes before a group's requests, not once). Any other error of ask's fails the
// test at once, one within the answer is the caller's to judge.
func Asked[T any](tb testing.TB, n *Node, what string, ask func(context.Context, *kadm.Client) (T, error)) T {
	tb.Helper()
	return asked(tb, n, what, func(ctx context.Context, client *kgo.Client) (T, error) { return ask(ctx, kadm.NewClient(client)) })
}

func asked[T any](tb testing.TB, n *Node, what string, ask func(context.Context, *kgo.Client) (T, error)) (answer T) {
	tb.Helper()
	Eventually(tb, what, func(ctx context.Context) error {
		client, err := kgo.NewClient(n.Seeds()...)
		if err != nil {
			tb.Fatal(err)
		}
		defer client.Close()
		answer, err = ask(ctx, client)
		if code := (*kerr.Error)(nil); errors.As(err, &code) && !code.Retriable {
			tb.Fatalf("%s: %v", what, err)
		}
		if err == nil {
			err = retriableWithin(answer)
		}
		return err
	})
	return answer
}

// retriableWithin is an error of a part of one of kadm's answers that Kafka calls retriable; nil if there is none.
func retriableWithin(answer any) error {
	parts, ok := answer.(interface{ Error() error })
	if !ok {
		return nil
	}
	if err := parts.Error(); kerr.IsRetriable(err) {
		return err
	}
	return nil
}
