package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

func (a *app) clusterVoters() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "voters",
		Short: "Show who votes on the cluster's metadata, give nodes a vote, and take it away",
		Long: `Show who votes on the cluster's metadata, give nodes a vote, and take it away. A decision needs more than half of the voters: three
of them bear the loss of one, five that of two. A node that does not vote follows the metadata all the same, as an observer.`,
	}
	onlyWithSubcommand(cmd)
	cmd.AddCommand(a.votersList(), a.votersAdd(), a.votersRemove())
	return cmd
}

// The parts that a node can have in the metadata quorum.
const (
	roleVoter    = "voter"
	roleObserver = "observer"
)

// quorumMember is one member of the metadata quorum, as JSON.
type quorumMember struct {
	Node         int32     `json:"node"`
	Directory    wire.UUID `json:"directory"` // the id of its part of the quorum; a node with a new disk has another
	Role         string    `json:"role"`      // voter or observer
	LogEndOffset int64     `json:"logEndOffset"`
	Lag          int64     `json:"lag"` // in records behind the member that has most
	// When it last asked the leader for more, and had all there was: milliseconds since 1970 by the leader's clock, which is now for the leader
	// itself; -1: not yet.
	LastFetch    int64 `json:"lastFetchTimestamp"`
	LastCaughtUp int64 `json:"lastCaughtUpTimestamp"`
}

// metadataQuorum is cluster voters list, as JSON.
type metadataQuorum struct {
	quorumStatus
	Members []quorumMember `json:"members"`
}

// describeQuorum asks for the metadata quorum. It is nil where the node tells of none, as one that has none does; the error is errQuorumHidden where
// it tells others.
func describeQuorum(ctx context.Context, client *kgo.Client) (*metadataQuorum, error) {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = image.ClusterMetadataTopic
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	if errors.Is(kerr.ErrorForCode(resp.ErrorCode), kerr.ClusterAuthorizationFailed) {
		return nil, errQuorumHidden
	}
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 || resp.Topics[0].Partitions[0].ErrorCode != 0 {
		return nil, nil
	}
	p := &resp.Topics[0].Partitions[0]
	q := &metadataQuorum{quorumStatus{Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HighWatermark: p.HighWatermark}, []quorumMember{}}
	end := int64(-1)
	for _, v := range p.CurrentVoters {
		end = max(end, v.LogEndOffset)
	}
	add := func(role string, all []kmsg.DescribeQuorumResponseTopicPartitionReplicaState) {
		for _, r := range all {
			q.Members = append(q.Members, quorumMember{r.ReplicaID, r.ReplicaDirectoryID, role, r.LogEndOffset, end - r.LogEndOffset, r.LastFetchTimestamp, r.LastCaughtUpTimestamp})
		}
	}
	add(roleVoter, p.CurrentVoters)
	add(roleObserver, p.Observers)
	return q, nil
}

// votes says whether a node votes.
func (q *metadataQuorum) votes(node int32) bool {
	return q != nil && slices.Contains(q.voters(), node)
}

func (a *app) votersList() *cobra.Command {
	return &cobra.Command{
		Use:               "list",
		Short:             "List who votes and who observes",
		Aliases:           []string{"ls"},
		Example:           `  ringmill cluster voters list`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.quorum(cmd.Context(), func(_ context.Context, _ *kgo.Client, q *metadataQuorum) error { return a.print(q, q.write) })
		},
	}
}

// quorum runs a command about the metadata quorum.
func (a *app) quorum(ctx context.Context, do func(context.Context, *kgo.Client, *metadataQuorum) error) error {
	return a.requests(ctx, func(ctx context.Context, client *kgo.Client) error {
		q, err := describeQuorum(ctx, client)
		switch {
		case err != nil:
			return cause(err)
		case q == nil:
			return fmt.Errorf("the node tells of no metadata quorum")
		}
		return do(ctx, client, q)
	})
}

func (q *metadataQuorum) write(w io.Writer) {
	fmt.Fprintf(w, "leader %s, epoch %d, offset %d\n\n", nodeOrNone(q.Leader), q.LeaderEpoch, q.HighWatermark)
	var rows [][]string
	for _, m := range q.Members {
		role, directory := m.Role, m.Directory.String()
		if m.Directory.IsZero() {
			directory = "-" // as where Apache Kafka's voters stand in its properties
		}
		if m.Node == q.Leader && role == roleVoter {
			role = "voter, leader"
		}
		rows = append(rows, []string{fmt.Sprint(m.Node), role, fmt.Sprint(m.Lag), directory})
	}
	table(w, []string{"NODE", "ROLE", "LAG", "DIRECTORY"}, rows)
}

// voterFlags say which member of the quorum is meant, where a node's id alone does not.
type voterFlags struct {
	directory string
	listeners []string
	dryRun    bool
}

func (f *voterFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.directory, "directory", "", "the `id` of the node's part of the quorum, as list shows it; needed if there are several of one node")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and change nothing")
	completeFlag(cmd, "directory")
}

// find is the member that is meant.
func (f *voterFlags) find(q *metadataQuorum, node int32, role string) (found quorumMember, err error) {
	var directories []string
	for _, m := range q.Members {
		if m.Node == node && m.Role == role && (f.directory == "" || f.directory == m.Directory.String()) {
			found, directories = m, append(directories, m.Directory.String())
		}
	}
	switch {
	case len(directories) > 1:
		return found, fmt.Errorf("node %d has several parts of the metadata quorum: say which one with --directory: %s", node, strings.Join(directories, ", "))
	case len(directories) == 0 && role == roleObserver && q.votes(node):
		return found, fmt.Errorf("node %d votes already", node)
	case len(directories) == 0:
		return found, fmt.Errorf("node %d is no %s of the metadata quorum: ringmill cluster voters list shows who is", node, role)
	}
	return found, nil
}

// changedVoter is who got a vote, or lost it, as JSON.
type changedVoter struct {
	Node      int32     `json:"node"`
	Directory wire.UUID `json:"directory"`
	DryRun    bool      `json:"dryRun"`
	Voters    int       `json:"voters"` // how many there are then
}

func (a *app) votersAdd() *cobra.Command {
	var flags voterFlags
	cmd := &cobra.Command{
		Use:   "add NODE",
		Short: "Give a node a vote",
		Long: `Give a node that observes a vote. It gets it once it has caught up. A cluster of ringmill nodes keeps as many voters as ringmill.quorum.voters
says by itself; this is for more, and for 0. An Apache Kafka cluster has to be told where the node's controller listens, with --listener.`,
		Example:           `  ringmill cluster voters add 4`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneBroker,
	}
	flags.register(cmd)
	cmd.Flags().StringArrayVar(&flags.listeners, "listener", nil, "a `NAME://HOST:PORT` at which the others reach the voter; may be repeated")
	completeFlag(cmd, "listener")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		node, err := nodeID(cmd, args[0])
		if err != nil {
			return err
		}
		listeners, err := flags.endpoints(cmd)
		if err != nil {
			return err
		}
		return a.quorum(cmd.Context(), func(ctx context.Context, client *kgo.Client, q *metadataQuorum) error {
			return a.addVoter(ctx, client, q, node, &flags, listeners)
		})
	}
	return cmd
}

// endpoints reads NAME://HOST:PORT flags.
func (f *voterFlags) endpoints(cmd *cobra.Command) (all []kmsg.AddRaftVoterRequestListener, err error) {
	for _, flag := range f.listeners {
		name, address, ok := strings.Cut(flag, "://")
		host, digits, err := net.SplitHostPort(address)
		port, notPort := strconv.ParseUint(digits, 10, 16)
		if !ok || name == "" || err != nil || notPort != nil {
			return nil, wrongUse(cmd, "--listener %q: must be NAME://HOST:PORT", flag)
		}
		l := kmsg.NewAddRaftVoterRequestListener()
		l.Name, l.Host, l.Port = name, host, uint16(port)
		all = append(all, l)
	}
	return all, nil
}

func (a *app) addVoter(ctx context.Context, client *kgo.Client, q *metadataQuorum, node int32, f *voterFlags, listeners []kmsg.AddRaftVoterRequestListener) error {
	m, err := f.find(q, node, roleObserver)
	if err != nil {
		return err
	}
	out := changedVoter{node, m.Directory, f.dryRun, len(q.voters()) + 1}
	if !f.dryRun {
		req := kmsg.NewPtrAddRaftVoterRequest()
		req.VoterID, req.VoterDirectoryID, req.TimeoutMillis, req.Listeners = node, m.Directory, int32(a.client.timeout.Milliseconds()), listeners
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return cause(err)
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return refused("node", fmt.Sprint(node), err, orNone(resp.ErrorMessage))
		}
	}
	return a.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "node %d %s on the metadata, one of %d\n", node, out.word("votes", "would vote"), out.Voters)
	})
}

// voters are the ids of those who vote.
func (q *metadataQuorum) voters() (ids []int32) {
	for _, m := range q.Members {
		if m.Role == roleVoter {
			ids = append(ids, m.Node)
		}
	}
	return ids
}

// word chooses between what was done and what would be.
func (c *changedVoter) word(does, would string) string {
	if c.DryRun {
		return would
	}
	return does
}

func (a *app) votersRemove() *cobra.Command {
	var flags voterFlags
	cmd := &cobra.Command{
		Use:   "remove NODE",
		Short: "Take a node's vote away",
		Long: `Take a node's vote away. It observes from then on; one that is unregistered leaves the quorum altogether. Refused is what would leave so few
voters that serve that nothing could be decided any more. A cluster of ringmill nodes gives a node that serves its vote back while there are fewer
voters than ringmill.quorum.voters, unless the node is drained.`,
		Example: `  ringmill cluster voters remove 3
  ringmill cluster voters remove 3 --directory 4nRtBSnTRmqiTUlKPP4bRg`,
		Args:              arguments(cobra.ExactArgs(1)),
		ValidArgsFunction: a.completeOneBroker,
	}
	flags.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		node, err := nodeID(cmd, args[0])
		if err != nil {
			return err
		}
		return a.quorum(cmd.Context(), func(ctx context.Context, client *kgo.Client, q *metadataQuorum) error {
			return a.removeVoter(ctx, client, q, node, &flags)
		})
	}
	return cmd
}

func (a *app) removeVoter(ctx context.Context, client *kgo.Client, q *metadataQuorum, node int32, f *voterFlags) error {
	m, err := f.find(q, node, roleVoter)
	if err != nil {
		return err
	}
	if err := q.remains(m); err != nil {
		return err
	}
	out := changedVoter{node, m.Directory, f.dryRun, len(q.voters()) - 1}
	if !f.dryRun {
		req := kmsg.NewPtrRemoveRaftVoterRequest()
		req.VoterID, req.VoterDirectoryID = node, m.Directory
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			return cause(err)
		}
		if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
			return refused("node", fmt.Sprint(node), err, orNone(resp.ErrorMessage))
		}
	}
	return a.print(out, func(w io.Writer) {
		fmt.Fprintf(w, "node %d %s on the metadata: %s left\n", node, out.word("votes no more", "would vote no more"), counted(out.Voters, "voter is", "voters are"))
	})
}

// voterSilence is how long a voter may not have asked the leader for more and yet be taken to run: many times what passes between two requests of
// one that does.
const voterSilence = 5 * time.Second

// remains refuses to take the vote of a member away where so few voters that run would be left that nothing could be decided.
func (q *metadataQuorum) remains(leaving quorumMember) error {
	voters, run := 0, 0
	var now int64
	for _, m := range q.Members {
		now = max(now, m.LastFetch)
	}
	for _, m := range q.Members {
		if m.Role != roleVoter || m == leaving {
			continue
		}
		voters++
		if now-m.LastFetch < voterSilence.Milliseconds() {
			run++
		}
	}
	if run*2 > voters {
		return nil
	}
	return fmt.Errorf("of the %d voters that would be left %d run, and nothing could be decided: start the others, or take the votes of those away first that are gone for good", voters, run)
}
