package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (a *app) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Show the cluster's nodes, its controller and what is wrong with its partitions",
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.clusterStatus())
	return cmd
}

func (a *app) clusterStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show nodes, voters, the controller, partitions that lack replicas, and what to do about it",
		Long: `Show the cluster's nodes and their part in the metadata quorum, the controller, and the partitions that have no leader or
fewer replicas in sync than they should, with what to do about each. A node that the controller has fenced is not served by: it is down, or cannot
reach the controller.`,
		Example: `  ringmill cluster status
  ringmill cluster status -o json | jq -e '.problems | length == 0'`,
		Args:              arguments(cobra.NoArgs),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.requests(cmd.Context(), func(ctx context.Context, client *kgo.Client) error {
				s, err := readClusterStatus(ctx, client)
				if err != nil {
					return err
				}
				return a.print(s, s.write)
			})
		},
	}
}

// clusterStatus is cluster status, as JSON.
type clusterStatus struct {
	ClusterID  string          `json:"clusterId"`
	Controller int32           `json:"controller"` // -1: none at the moment
	Quorum     *quorumStatus   `json:"quorum"`     // null: the node tells of none
	Nodes      []clusterNode   `json:"nodes"`
	Partitions partitionCounts `json:"partitions"`
	Problems   []problem       `json:"problems"`
}

// quorumStatus is the metadata quorum. Lags are in records.
type quorumStatus struct {
	Leader        int32 `json:"leader"`
	LeaderEpoch   int32 `json:"leaderEpoch"`
	HighWatermark int64 `json:"highWatermark"`
}

type clusterNode struct {
	ID      int32   `json:"id"`
	Address string  `json:"address"`
	Rack    *string `json:"rack"`
	Fenced  bool    `json:"fenced"`
	Quorum  string  `json:"quorum"` // voter, observer or ""
	// QuorumLag is how many records of the metadata the node lacks; -1 if that is not known.
	QuorumLag int64 `json:"quorumLag"`
	Leaders   int   `json:"leaders"`
	Replicas  int   `json:"replicas"`
}

type partitionCounts struct {
	Total           int `json:"total"`
	Offline         int `json:"offline"`
	UnderReplicated int `json:"underReplicated"`
}

// problem is one thing that is wrong, with what to do about it.
type problem struct {
	Problem string `json:"problem"`
	Cure    string `json:"cure"`
}

func readClusterStatus(ctx context.Context, client *kgo.Client) (*clusterStatus, error) {
	s := &clusterStatus{Nodes: []clusterNode{}, Problems: []problem{}}
	if err := s.readNodes(ctx, client); err != nil {
		return nil, err
	}
	if err := s.readQuorum(ctx, client); err != nil {
		return nil, err
	}
	topics, err := kadm.NewClient(client).ListTopicsWithInternal(ctx)
	if err != nil {
		return nil, cause(err)
	}
	s.nodeProblems()
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			s.count(p)
		}
	}
	return s, nil
}

// readNodes asks for all nodes, those that are fenced too (KIP-1073).
func (s *clusterStatus) readNodes(ctx context.Context, client *kgo.Client) error {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return cause(err)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return refused("request", "DescribeCluster", err, "")
	}
	s.ClusterID, s.Controller = resp.ClusterID, resp.ControllerID
	for _, b := range resp.Brokers {
		s.Nodes = append(s.Nodes, clusterNode{
			ID: b.NodeID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), Rack: b.Rack, Fenced: b.IsFenced, QuorumLag: -1,
		})
	}
	slices.SortFunc(s.Nodes, func(a, b clusterNode) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// readQuorum asks who votes on the metadata. A node that has no quorum refuses, and then nothing is told.
func (s *clusterStatus) readQuorum(ctx context.Context, client *kgo.Client) error {
	req := kmsg.NewPtrDescribeQuorumRequest()
	t := kmsg.NewDescribeQuorumRequestTopic()
	t.Topic = metadataTopic
	t.Partitions = append(t.Partitions, kmsg.NewDescribeQuorumRequestTopicPartition())
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return cause(err)
	}
	if resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil
	}
	p := &resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		return nil
	}
	s.Quorum = &quorumStatus{Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch, HighWatermark: p.HighWatermark}
	end := int64(-1)
	for _, v := range p.CurrentVoters {
		end = max(end, v.LogEndOffset)
	}
	for _, v := range p.CurrentVoters {
		s.member(v.ReplicaID, "voter", end-v.LogEndOffset)
	}
	for _, o := range p.Observers {
		s.member(o.ReplicaID, "observer", end-o.LogEndOffset)
	}
	return nil
}

// metadataTopic names the quorum's log in requests.
const metadataTopic = "__cluster_metadata"

// member notes a node's part in the quorum. One that is no broker of the cluster is told of as well.
func (s *clusterStatus) member(id int32, part string, lag int64) {
	i := slices.IndexFunc(s.Nodes, func(n clusterNode) bool { return n.ID == id })
	if i < 0 {
		s.Problems = append(s.Problems, problem{
			fmt.Sprintf("%s %d of the metadata quorum is no node of the cluster", part, id),
			"start it again, or, if it is gone for good, take it out with RemoveRaftVoter (kafka-metadata-quorum.sh remove-controller)",
		})
		return
	}
	s.Nodes[i].Quorum, s.Nodes[i].QuorumLag = part, lag
}

func (s *clusterStatus) nodeProblems() {
	if s.Controller < 0 {
		s.Problems = append(s.Problems, problem{"there is no controller", "start so many voters that more than half of them run and reach each other"})
	}
	for _, n := range s.Nodes {
		if n.Fenced {
			s.Problems = append(s.Problems, problem{
				fmt.Sprintf("node %d (%s) is fenced", n.ID, n.Address),
				"start it, or see why it does not reach the controller; if it is gone for good, reassign its partitions and unregister it",
			})
		}
	}
}

// count adds a partition, and says what is wrong with it.
func (s *clusterStatus) count(p kadm.PartitionDetail) {
	s.Partitions.Total++
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if slices.Contains(p.Replicas, n.ID) {
			n.Replicas++
		}
		if p.Leader == n.ID {
			n.Leaders++
		}
	}
	name := fmt.Sprintf("%s-%d", p.Topic, p.Partition)
	switch missing := without(p.Replicas, p.ISR); {
	case p.Leader < 0:
		s.Partitions.Offline++
		s.Problems = append(s.Problems, problem{
			fmt.Sprintf("partition %s has no leader: replicas %s, in sync were %s", name, joined(p.Replicas), joined(p.ISR)),
			"start the nodes that were in sync; only if they are gone for good, elect another with ElectLeaders (unclean): records are lost then",
		})
	case len(missing) > 0:
		s.Partitions.UnderReplicated++
		s.Problems = append(s.Problems, problem{
			fmt.Sprintf("partition %s lacks replicas in sync: %s of %s", name, joined(missing), joined(p.Replicas)),
			fmt.Sprintf("start what is down of the nodes %s; what runs catches up by itself", joined(missing)),
		})
	}
}

// without gives those of all that others does not have.
func without(all, others []int32) (rest []int32) {
	for _, n := range all {
		if !slices.Contains(others, n) {
			rest = append(rest, n)
		}
	}
	return rest
}

// problemsShown bounds the problems of the text; JSON has all.
const problemsShown = 20

func (s *clusterStatus) write(w io.Writer) {
	fmt.Fprintf(w, "cluster %s, controller %s", s.ClusterID, nodeOrNone(s.Controller))
	if s.Quorum != nil {
		fmt.Fprintf(w, ", metadata epoch %d, offset %d", s.Quorum.LeaderEpoch, s.Quorum.HighWatermark)
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "partitions: %d, without a leader %d, under-replicated %d\n\n", s.Partitions.Total, s.Partitions.Offline, s.Partitions.UnderReplicated)
	var rows [][]string
	for _, n := range s.Nodes {
		state, rack, lag := "serves", "", ""
		if n.Fenced {
			state = "fenced"
		}
		if n.Rack != nil {
			rack = *n.Rack
		}
		if n.QuorumLag >= 0 {
			lag = fmt.Sprint(n.QuorumLag)
		}
		rows = append(rows, []string{fmt.Sprint(n.ID), n.Address, orDash(rack), state, orDash(n.Quorum), orDash(lag), fmt.Sprint(n.Leaders), fmt.Sprint(n.Replicas)})
	}
	table(w, []string{"NODE", "ADDRESS", "RACK", "STATE", "QUORUM", "QUORUM-LAG", "LEADERS", "REPLICAS"}, rows)
	for i, p := range s.Problems {
		if i == problemsShown {
			fmt.Fprintf(w, "\n%d more problems: -o json has all\n", len(s.Problems)-i)
			break
		}
		fmt.Fprintf(w, "\n%s\n  %s\n", p.Problem, p.Cure)
	}
}

func nodeOrNone(id int32) string {
	if id < 0 {
		return "none"
	}
	return fmt.Sprint(id)
}
