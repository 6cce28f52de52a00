package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrVanished says that nodes no longer know the topic of a run.
var ErrVanished = errors.New("bench: the topic vanished")

// ErrSilent says that nothing was acknowledged or fetched for as long as a run has patience.
var ErrSilent = errors.New("bench: no progress")

// ErrLeftBehind says that a topic of a run could not be removed; who gets it has to tell which. leftBehind is it.
var ErrLeftBehind = errors.New("bench: a topic is left behind, or may be")

// leftBehind is a topic that could not be removed, and why.
type leftBehind struct {
	topic string
	known bool // nodes said that they made it, and that they do not remove it; else it may be gone, or never have come to be
	why   error
}

func (e *leftBehind) Error() string {
	if e.known {
		return fmt.Sprintf("bench: topic %s is left behind: %s", e.topic, e.why)
	}
	return fmt.Sprintf("bench: topic %s could not be removed, it may be left behind: %s", e.topic, e.why)
}

func (e *leftBehind) Is(target error) bool { return target == ErrLeftBehind }
func (e *leftBehind) Unwrap() error        { return e.why }

// askTimeout bounds one question to a node, removeRetryWait is how often it is asked whether a topic came to be after all.
const (
	askTimeout      = 10 * time.Second
	removeRetryWait = 100 * time.Millisecond
)

// cluster is where a run's topic is. Its methods are safe for any goroutine.
type cluster struct {
	addresses []string
	dial      Dialer
	topic     string
	patience  time.Duration // of the run: bounds how long a node may take to say who leads; 0 is askTimeout

	mu       sync.Mutex
	answered string   // who did last: is asked first, so that one that does not is not waited for each time
	learnt   []string // nodes that others named, besides addresses
}

// leadersTimeoutMin is what a node may take to say who leads, however little patience a run has.
const leadersTimeoutMin = time.Second

// leadersTimeout is how long a node may take to say who leads.
func (c *cluster) leadersTimeout() time.Duration {
	if c.patience == 0 {
		return askTimeout
	}
	return max(quietMax(c.patience), leadersTimeoutMin)
}

// answerTimeout is how long a node may take for one answer, the topic's creation among them: no longer than the run has patience.
func (c *cluster) answerTimeout() time.Duration {
	if c.patience == 0 {
		return askTimeout
	}
	return min(max(c.patience, leadersTimeoutMin), askTimeout)
}

// inTurn are the nodes in the order in which they are asked.
func (c *cluster) inTurn() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Concat(c.addresses, c.learnt)
	i := max(slices.Index(all, c.answered), 0)
	return slices.Concat(all[i:], all[:i])
}

func (c *cluster) noteAnswer(address string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered = address
}

// learn notes who else may be asked.
func (c *cluster) learn(brokers []kmsg.MetadataResponseBroker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learnt = c.learnt[:0]
	for i := range brokers {
		if address := addressOf(&brokers[i]); !slices.Contains(c.addresses, address) {
			c.learnt = append(c.learnt, address)
		}
	}
}

// ask puts a question to the nodes in turn until one has an answer that is no error. Each may take so long.
func (c *cluster) ask(ctx context.Context, within time.Duration, question func(*RawConn) error) error {
	var first error
	for _, address := range c.inTurn() {
		err := c.askAt(ctx, address, within, question)
		if err == nil {
			c.noteAnswer(address)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (c *cluster) askAt(ctx context.Context, address string, within time.Duration, question func(*RawConn) error) error {
	conn, err := dialRaw(ctx, c.dial, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.socket.SetDeadline(time.Now().Add(within)); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return question(conn)
}

// creation is what is known of the topic after it was asked for.
type creation struct {
	// ours: there may be one of ours. Never after a node refused to make it, as where the name is taken or this client has no right to.
	ours bool
	// known: a node said that it made it.
	known bool
	// until is when it can no longer come to be, if no answer told; the zero time if one did.
	until time.Time
}

// create makes the topic with these properties. An interruption does not cut it short, so that its answer is known wherever there is one.
func (c *cluster) create(ctx context.Context, partitions, replicas int, properties map[string]string) (made creation, err error) {
	ctx = context.WithoutCancel(ctx)
	asked := kmsg.NewCreateTopicsRequestTopic()
	asked.Topic, asked.NumPartitions, asked.ReplicationFactor = c.topic, int32(partitions), int16(replicas)
	for _, address := range c.inTurn() {
		reached := false
		timeout := c.answerTimeout()
		err = c.askAt(ctx, address, timeout, func(conn *RawConn) error {
			if _, err := brokersKnown(conn); err != nil {
				return err // it does not talk to this client: nothing has been asked for that could come to be
			}
			reached = true
			if err := conn.socket.SetDeadline(time.Now().Add(timeout)); err != nil {
				return fmt.Errorf("bench: %w", err)
			}
			return createTopic(conn, asked, properties, timeout)
		})
		if !reached {
			continue
		}
		made.ours, made.known = !refused(err), err == nil
		if err != nil && !isAnswer(err) || errors.Is(err, kerr.RequestTimedOut) {
			made.until = time.Now().Add(timeout)
		}
		return made, err
	}
	return made, err
}

// refused tells that a node answered a request to change something with an error after which nothing is changed. After those that a client is to try again,
// as one that the controller has no more say, or no time, it may be all the same.
func refused(err error) bool {
	return isAnswer(err) && !kerr.IsRetriable(err) && !errors.Is(err, kerr.UnknownServerError)
}

// awaitServed waits for all partitions of a topic that has been made, as long as the run has patience, or for createTimeout if that is more.
func (c *cluster) awaitServed(ctx context.Context, partitions int) error {
	limit := max(c.patience, createTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w: not within %v", ErrSilent, limit))
	defer cancel()
	for {
		served, err := c.served(ctx, partitions)
		if served {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("bench: topic %s is not served: %w", c.topic, errors.Join(context.Cause(ctx), err))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (c *cluster) served(ctx context.Context, partitions int) (bool, error) {
	leaders, err := c.leaders(ctx)
	if err != nil || len(leaders) < partitions {
		return false, err
	}
	for address, led := range byLeader(leaders, firstPartitions(partitions)) {
		all := false
		err := c.askAt(ctx, address, c.answerTimeout(), func(conn *RawConn) (err error) {
			all, err = partitionsServed(conn, c.topic, led)
			return err
		})
		if err != nil || !all {
			return false, err
		}
	}
	return true, nil
}

// clean removes the topic at the end of a run, cancelled or not.
func (c *cluster) clean(ctx context.Context, made creation) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	if err := c.remove(ctx, made); err != nil {
		return &leftBehind{c.topic, made.known && refused(err), err}
	}
	return nil
}

// remove deletes the topic. One that is not there any more is removed; one that may still come to be is waited for.
func (c *cluster) remove(ctx context.Context, made creation) error {
	for {
		err := c.ask(ctx, askTimeout, func(conn *RawConn) error { return deleteTopic(conn, c.topic) })
		late := !time.Now().Before(made.until)
		if err == nil || late && errors.Is(err, kerr.UnknownTopicOrPartition) {
			return nil
		}
		if late && (made.until.IsZero() || refused(err)) || ctx.Err() != nil {
			return err
		}
		pause(ctx, removeRetryWait)
	}
}

// leaders are the addresses of those who lead the partitions that somebody leads.
func (c *cluster) leaders(ctx context.Context) (leaders map[int32]string, err error) {
	err = c.ask(ctx, c.leadersTimeout(), func(conn *RawConn) error {
		answer, err := Metadata(conn, c.topic)
		if err != nil {
			return err
		}
		c.learn(answer.Brokers)
		leaders = map[int32]string{}
		for partition, node := range leadersIn(answer) {
			leaders[partition] = addressOf(node)
		}
		return nil
	})
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil, fmt.Errorf("%w: %s: %w", ErrVanished, c.topic, err)
	}
	return leaders, err
}

// leadersIn are the nodes that lead the partitions of an answer's only topic, for those that somebody leads.
func leadersIn(answer *kmsg.MetadataResponse) map[int32]*kmsg.MetadataResponseBroker {
	nodes := map[int32]*kmsg.MetadataResponseBroker{}
	for i := range answer.Brokers {
		nodes[answer.Brokers[i].NodeID] = &answer.Brokers[i]
	}
	leaders := map[int32]*kmsg.MetadataResponseBroker{}
	for _, p := range answer.Topics[0].Partitions {
		if node := nodes[p.Leader]; node != nil && p.ErrorCode == 0 {
			leaders[p.Partition] = node
		}
	}
	return leaders
}

func addressOf(b *kmsg.MetadataResponseBroker) string { return fmt.Sprintf("%s:%d", b.Host, b.Port) }

// byLeader groups partitions by who leads them; those that nobody leads are in no group.
func byLeader(leaders map[int32]string, partitions []int32) map[string][]int32 {
	groups := map[string][]int32{}
	for _, p := range partitions {
		if address, led := leaders[p]; led {
			groups[address] = append(groups[address], p)
		}
	}
	return groups
}

// Nodes are the addresses of all nodes where the trial runs, in the order of their ids.
func (t Trial) Nodes(ctx context.Context) (addresses []string, err error) {
	c := t.cluster("")
	err = c.ask(ctx, c.answerTimeout(), func(conn *RawConn) error {
		answer, err := Metadata(conn)
		if err != nil {
			return err
		}
		slices.SortFunc(answer.Brokers, func(a, b kmsg.MetadataResponseBroker) int { return int(a.NodeID - b.NodeID) })
		for i := range answer.Brokers {
			addresses = append(addresses, addressOf(&answer.Brokers[i]))
		}
		return nil
	})
	return addresses, err
}
