package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func (a *app) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "cluster",
		Short:   "Show the cluster and what is wrong with it, spread its partitions, and change its voters",
		GroupID: groupCluster,
	}
	onlyWithSubcommand(cmd)
	a.client.register(cmd)
	cmd.AddCommand(a.clusterStatus(), a.clusterBalance(), a.clusterVoters(), a.clusterUpgrade())
	return cmd
}

func (a *app) clusterStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show nodes, voters, the controller, partitions that lack replicas, and what to do about it",
		Long: `Show the cluster's nodes and their part in the metadata quorum, the controller, and the partitions that have no leader or
fewer replicas in sync than they should, with what to do about each. A node that the controller has fenced is not served by: it is down, or cannot
reach the controller. One that is drained leads nothing that another can lead: while its replicas go it is draining, and what is left of them is
shown with what it waits for; with none left it is drained, and may go. What an authorizer hides from who asks is a problem as well.`,
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
	Drains     []drainStatus   `json:"drains"` // of nodes that are being emptied
	Partitions partitionCounts `json:"partitions"`
	Problems   []problem       `json:"problems"`
}

// quorumStatus is how far the metadata quorum is; the high watermark is an offset of its log.
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
	State   string  `json:"state"`  // serves, fenced, draining, drained or leaders-drained
	Drain   string  `json:"drain"`  // what ringmill.drain says: leaders or replicas; "" if it is not drained, or does not answer
	Quorum  string  `json:"quorum"` // voter, observer or ""
	// QuorumLag is how many records of the metadata the node lacks; -1 if that is not known.
	QuorumLag int64 `json:"quorumLag"`
	Leaders   int   `json:"leaders"`
	Replicas  int   `json:"replicas"`
}

// serves says whether a node is registered and the controller reaches it. One that does not cannot be asked for anything, as to have its property set.
func serves(nodes []clusterNode, id int32) bool {
	return slices.ContainsFunc(nodes, func(n clusterNode) bool { return n.ID == id && !n.Fenced })
}

// serving are the ids of the nodes that do.
func serving(nodes []clusterNode) (ids []int32) {
	for _, n := range nodes {
		if !n.Fenced {
			ids = append(ids, n.ID)
		}
	}
	return ids
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
	s := &clusterStatus{Nodes: []clusterNode{}, Drains: []drainStatus{}, Problems: []problem{}}
	if err := s.readNodes(ctx, client); err != nil {
		return nil, err
	}
	topics, err := kadm.NewClient(client).ListTopicsWithInternal(ctx)
	if err != nil {
		return nil, cause(err)
	}
	if err := topicsHidden(ctx, client); err != nil && !s.hidden(err) {
		return nil, err
	}
	eligible := readEligible(ctx, client, topics)
	if err := s.readQuorum(ctx, client); err != nil {
		return nil, err
	}
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			s.count(p)
		}
	}
	s.nodeProblems()
	if s.Controller < 0 {
		s.reach(ctx, client)
	} else {
		s.readDrains(ctx, client, topics)
	}
	var lacking []problem // after those without a leader, which are worse
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			switch {
			case p.Leader < 0:
				s.Problems = append(s.Problems, leaderless(p, eligible[partition{p.Topic, p.Partition}]))
			case len(p.ISR) < len(p.Replicas):
				lacking = append(lacking, s.underReplicated(p))
			}
		}
	}
	s.Problems = append(s.Problems, lacking...)
	s.drainProblems()
	return s, nil
}

// statusPatience is how long a node may take for one of the questions without whose answer there is something to tell: two of them leave time for
// the rest.
const statusPatience = 3 * time.Second

// readEligible asks which replicas have all that was acknowledged of the partitions that have no leader (KIP-966): the eligible ones, else
// those that were in the in-sync set last. Nodes that know no such request tell nothing.
func readEligible(ctx context.Context, client *kgo.Client, topics kadm.TopicDetails) map[partition][]int32 {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, t := range topics.Sorted() {
		if slices.ContainsFunc(t.Partitions.Sorted(), func(p kadm.PartitionDetail) bool { return p.Leader < 0 }) {
			asked := kmsg.NewDescribeTopicPartitionsRequestTopic()
			asked.Topic = t.Topic
			req.Topics = append(req.Topics, asked)
		}
	}
	eligible := make(map[partition][]int32)
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	for len(req.Topics) > 0 {
		resp, err := req.RequestWith(ctx, client)
		if err != nil {
			break
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if t.Topic == nil {
					continue
				}
				known := slices.Concat(p.ISR, p.EligibleLeaderReplicas)
				if len(known) == 0 {
					known = p.LastKnownELR
				}
				eligible[partition{*t.Topic, p.Partition}] = known
			}
		}
		if resp.NextCursor == nil {
			break
		}
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		req.Cursor = &cursor
	}
	return eligible
}

// reachPatience is how long a node may take to answer when it is asked whether it is there.
const reachPatience = time.Second

// reach asks each node whether it is there. Without a controller nobody fences those that are not, and what the metadata say of them is old.
func (s *clusterStatus) reach(ctx context.Context, client *kgo.Client) {
	for _, n := range s.Nodes {
		limited, cancel := context.WithTimeout(ctx, reachPatience)
		_, err := client.Broker(int(n.ID)).Request(limited, kmsg.NewPtrApiVersionsRequest())
		cancel()
		if err != nil && !n.Fenced {
			s.Problems = append(s.Problems, problem{
				fmt.Sprintf("node %d (%s) does not answer: %v", n.ID, n.Address, innermost(err)), "start it, or see in its log why it does not answer",
			})
		}
	}
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
			ID: b.NodeID, Address: net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port))), Rack: b.Rack, Fenced: b.IsFenced, State: stateOf(b.IsFenced), QuorumLag: -1,
		})
	}
	slices.SortFunc(s.Nodes, func(a, b clusterNode) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

func stateOf(fenced bool) string {
	if fenced {
		return stateFenced
	}
	return stateServes
}

// readQuorum asks the controller who votes on the metadata. Where there is no controller, or none answers, nothing is told.
func (s *clusterStatus) readQuorum(ctx context.Context, client *kgo.Client) error {
	if s.Controller < 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	q, err := describeQuorum(limited, client)
	silent := limited.Err() != nil && ctx.Err() == nil // as a node is whose controller has just gone, until it knows
	if err = cause(err); errors.Is(err, errNoController) || err != nil && silent {
		s.Controller = -1
		return nil
	}
	if err != nil && !s.hidden(err) {
		return err
	}
	if q == nil {
		return nil
	}
	s.Quorum = &q.quorumStatus
	for _, m := range q.Members {
		s.member(m)
	}
	return nil
}

// leaves says what takes a node out of the metadata quorum, by its part in it.
var leaves = map[string]string{
	roleVoter:    "ringmill cluster voters remove",
	roleObserver: "ringmill node unregister",
}

// member notes a node's part in the quorum. One that is no broker of the cluster is told of as well.
func (s *clusterStatus) member(m quorumMember) {
	i := slices.IndexFunc(s.Nodes, func(n clusterNode) bool { return n.ID == m.Node })
	if i < 0 {
		s.Problems = append(s.Problems, problem{
			fmt.Sprintf("%s %d of the metadata quorum is no node of the cluster", m.Role, m.Node),
			fmt.Sprintf("start it again, or, if it is gone for good, take it out: %s %d", leaves[m.Role], m.Node),
		})
		return
	}
	s.Nodes[i].Quorum, s.Nodes[i].QuorumLag = m.Role, m.Lag
}

func (s *clusterStatus) nodeProblems() {
	if s.Controller < 0 {
		s.Problems = append(s.Problems, problem{
			"there is no controller: nothing is decided, and what is shown is what was decided last",
			"start so many voters that more than half of them run and reach each other",
		})
	}
	for _, n := range s.Nodes {
		if n.Fenced {
			gone := fmt.Sprintf("ringmill node unregister %d takes it out", n.ID)
			if n.Replicas > 0 {
				gone = fmt.Sprintf("ringmill node drain %d moves its replicas, and %s", n.ID, gone)
			}
			s.Problems = append(s.Problems, problem{
				fmt.Sprintf("node %d (%s) is fenced", n.ID, n.Address),
				"start it, or see in its log why it does not reach the controller; if it is gone for good, " + gone,
			})
		}
	}
}

// drainProblems are the replicas that can never leave a node that is being emptied.
func (s *clusterStatus) drainProblems() {
	for _, d := range s.Drains {
		for _, p := range d.stays {
			s.Problems = append(s.Problems, problem{
				fmt.Sprintf("partition %s stays on node %d, which is being drained: no other node can take it", partitionName(p), d.Node),
				"start more nodes, or give these topics fewer replicas",
			})
		}
	}
}

// count adds a partition.
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
	switch {
	case p.Leader < 0:
		s.Partitions.Offline++
	case len(p.ISR) < len(p.Replicas):
		s.Partitions.UnderReplicated++
	}
}

// leaderless is the problem of a partition that has no leader. eligible are the replicas that may lead it without a loss, if that is known.
func leaderless(p kadm.PartitionDetail, eligible []int32) problem {
	said := fmt.Sprintf("partition %s-%d has no leader: replicas %s", p.Topic, p.Partition, joined(p.Replicas))
	lost := "ringmill topic elect TOPIC:PARTITION --unclean has another lead: records are lost then"
	if len(p.Replicas) == 1 || len(without(p.Replicas, eligible)) == 0 {
		lost = "its records are lost: there is no other replica"
	}
	switch len(eligible) {
	case 0:
		return problem{said, "start the nodes of its replicas; only if that does not help, " + lost}
	case 1:
		return problem{said + ", of which " + joined(eligible) + " has all that was acknowledged",
			"start node " + joined(eligible) + ", which leads as soon as it serves; only if it is gone for good, " + lost}
	}
	return problem{said + ", of which " + joined(eligible) + " have all that was acknowledged",
		"start any of the nodes " + joined(eligible) + ", which leads as soon as it serves; only if all of them are gone for good, " + lost}
}

// underReplicated is the problem of a partition that has a leader, and fewer replicas in sync than replicas.
func (s *clusterStatus) underReplicated(p kadm.PartitionDetail) problem {
	missing := without(p.Replicas, p.ISR)
	slices.Sort(missing)
	down := slices.DeleteFunc(slices.Clone(missing), func(id int32) bool {
		return serves(s.Nodes, id)
	})
	said := fmt.Sprintf("partition %s-%d lacks replicas in sync: %s of %s", p.Topic, p.Partition, joined(missing), joined(p.Replicas))
	if len(down) == 0 {
		return problem{said, "wait: what runs catches up by itself; if not, see the log of " + nodes(missing)}
	}
	return problem{said, "start " + nodes(down) + "; what runs catches up by itself"}
}

// nodes names some nodes: node 1, or nodes 1,2.
func nodes(ids []int32) string {
	if len(ids) == 1 {
		return "node " + joined(ids)
	}
	return "nodes " + joined(ids)
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

// problemsShown bounds a list in the text, as the problems of one cure; JSON has all.
const problemsShown = 5

// writeFirst writes a line for each of the first, and how many more there are.
func writeFirst[T any](w io.Writer, indent string, all []T, line func(T) string) {
	for _, v := range all[:min(len(all), problemsShown)] {
		fmt.Fprintf(w, "%s%s\n", indent, line(v))
	}
	if more := len(all) - problemsShown; more > 0 {
		fmt.Fprintf(w, "%s... and %d more (-o json has all)\n", indent, more)
	}
}

func (s *clusterStatus) write(w io.Writer) {
	fmt.Fprintf(w, "cluster %s, controller %s", s.ClusterID, nodeOrNone(s.Controller))
	if s.Quorum != nil {
		fmt.Fprintf(w, ", metadata epoch %d, offset %d", s.Quorum.LeaderEpoch, s.Quorum.HighWatermark)
	}
	fmt.Fprintln(w)
	fmt.Fprintf(w, "partitions: %d, without a leader %d, under-replicated %d\n\n", s.Partitions.Total, s.Partitions.Offline, s.Partitions.UnderReplicated)
	var rows [][]string
	for _, n := range s.Nodes {
		rack, lag := "", ""
		if n.Rack != nil {
			rack = *n.Rack
		}
		if n.QuorumLag >= 0 {
			lag = fmt.Sprint(n.QuorumLag)
		}
		rows = append(rows, []string{fmt.Sprint(n.ID), n.Address, orDash(rack), n.State, orDash(n.Quorum), orDash(lag), fmt.Sprint(n.Leaders), fmt.Sprint(n.Replicas)})
	}
	table(w, []string{"NODE", "ADDRESS", "RACK", "STATE", "QUORUM", "QUORUM-LAG", "LEADERS", "REPLICAS"}, rows)
	s.writeDrains(w)
	s.writeProblems(w)
}

// writeProblems tells what is wrong, and each cure once, below what it cures.
func (s *clusterStatus) writeProblems(w io.Writer) {
	var cures []string
	of := make(map[string][]string)
	for _, p := range s.Problems {
		if of[p.Cure] == nil {
			cures = append(cures, p.Cure)
		}
		of[p.Cure] = append(of[p.Cure], p.Problem)
	}
	for _, cure := range cures {
		fmt.Fprintln(w)
		writeFirst(w, "", of[cure], func(problem string) string { return problem })
		fmt.Fprintf(w, "  %s\n", cure)
	}
}

func nodeOrNone(id int32) string {
	if id < 0 {
		return "none"
	}
	return fmt.Sprint(id)
}
