package config

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteReference writes the reference page in Markdown. docs/configuration.md is this, and a test keeps it so.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, s := range referenceSections {
		if !slices.ContainsFunc(s.rows, func(p Property) bool { return p.Effective() }) {
			continue // all of it is with what has no effect
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.intro)
		writeRows(&b, s.rows)
	}
	writeIdle(&b)
	writeRetired(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

const referenceHead = `# Configuration

<!-- Written from the table in node/config by "go test ./node/config -run TestReferencePage -update"; do not edit. -->

ringmill takes Apache Kafka's property names, types and defaults (those of 4.1.1), and the prefix ` + "`ringmill.`" + ` where Kafka
has no name. A ` + "`server.properties`" + ` of Kafka works as it is: all its properties are accepted, and those without effect are
listed at start with the reason.

Where a value comes from, strongest first:

1. ` + "`ringmill serve --set key=value`" + ` (may be repeated; the last wins)
2. the short forms ` + "`--listen HOST:PORT`" + ` (listeners), ` + "`--data DIR`" + ` (ringmill.data.dir) and ` + "`--join HOST:PORT`" + ` (seeds; may be repeated)
3. the environment: ` + "`RINGMILL_LOG_RETENTION_MS`" + ` for log.retention.ms, ` + "`RINGMILL_ENGINE`" + ` for ringmill.engine
4. the file given with ` + "`--config FILE`" + `, in Java's properties syntax; ` + "`${...}`" + ` is not expanded
5. the default

An unknown name or a bad value is one line on standard error and exit status 2; nothing on disk is touched.
"Update" says whether the value can be altered while the node runs: cluster-wide for one node or all, per-broker for one
node, read-only not at all.
`

type referenceSection struct {
	title, intro string
	rows         []Property
}

var referenceSections = []referenceSection{
	{"ringmill's own", "What Kafka has no name for.", ringmillProperties},
	{"The node", "Who this node is.", identityProperties},
	{"Cluster", "How nodes find each other and form one cluster. A node without `seeds` that expects no other is one of its own.", clusterProperties},
	{"Replication", "How partitions are copied between nodes, and who leads them. `leader.replication.throttled.rate` and `follower.replication.throttled.rate`, in bytes a second, bound what throttled replicas copy; as in Kafka they are set on running nodes alone; so is `ringmill.drain` (docs/cluster.md), of one node.", replicationProperties},
	{"Network", "Where clients are served and what one client may take.", networkProperties},
	{"Quotas", "What client quotas are measured over; the quotas themselves are set with `ringmill quota`, `kafka-configs` or any Kafka admin tool.", quotaProperties},
	{"Topics", "How topics are created and written to.", creationProperties},
	{"Logs", "The partitions' files.", logProperties},
	{"Compaction", "How logs with `cleanup.policy=compact` are cleaned.", cleanerProperties},
	{"Moves", "How logs go from one log directory to another (`ringmill log-dirs move`, `kafka-reassign-partitions`). `" + MoveRate + "` bounds them all together, in bytes a second; as in Kafka it is set on the running node alone (`kafka-configs`, or `--throttle`).", moveProperties},
	{"Producers", "What is remembered of idempotent producers.", producerProperties},
	{"Transactions", "Transactional ids and their log.", transactionProperties},
	{"Groups", "Consumer groups and committed offsets.", groupProperties},
	{"Share groups", "The members of share groups (KIP-932).", shareGroupProperties},
	{"Share partitions", "What share groups fetch (KIP-932).", sharePartitionProperties},
	{"Share groups' states", "The log of the share coordinator (KIP-932).", shareStateProperties},
	{"Properties of topics", "Set with `ringmill topic create -c name=value` or any Kafka admin tool. Where a topic has no value of its own, the node's applies.", topicProperties},
	{"Properties of groups", "Set with `ringmill config set --group NAME name=value` or any Kafka admin tool. Where a group has no value of its own, the node's applies.", groupOverrideProperties},
}

func writeRows(b *strings.Builder, rows []Property) {
	b.WriteString("| property | type | default | allowed | update | meaning |\n|---|---|---|---|---|---|\n")
	for i := range rows {
		if p := &rows[i]; p.Effective() && !p.Internal {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s |\n", p.Name, strings.ToLower(p.Type.String()), p.shownDefault(),
				strings.ReplaceAll(p.Allowed(), "|", `\|`), p.Update, p.meaning())
		}
	}
}

func (p *Property) meaning() string {
	if p.BrokerSynonym != "" {
		return p.Doc + " Node: `" + p.BrokerSynonym + "`."
	}
	return p.Doc
}

// shownDefault spells the numbers that mean "no bound", and leaves the rest as it is written in a file.
func (p *Property) shownDefault() string {
	switch {
	case p.Nullable:
		return "unset"
	case p.BrokerSynonym != "":
		return "the node's"
	case p.Default == "":
		return "empty"
	case p.Default == maxLong:
		return "2⁶³-1"
	case p.Default == maxInt:
		return "2³¹-1"
	}
	return "`" + p.Default + "`"
}

// writeIdle lists what has no effect, by reason in the order of the table.
func writeIdle(b *strings.Builder) {
	b.WriteString("\n## Accepted without effect\n\nChecked for type and bounds, described by DescribeConfigs, listed at start if set.\n\n| why | properties |\n|---|---|\n")
	var reasons []string
	names := make(map[string][]string)
	for i := range table {
		p := &table[i]
		if p.Effective() || p.Internal || slices.Contains(names[p.Reason], "`"+p.Name+"`") {
			continue
		}
		if names[p.Reason] == nil {
			reasons = append(reasons, p.Reason)
		}
		names[p.Reason] = append(names[p.Reason], "`"+p.Name+"`")
	}
	for _, r := range reasons {
		fmt.Fprintf(b, "| %s | %s |\n", r, strings.Join(names[r], " "))
	}
}

func writeRetired(b *strings.Builder) {
	b.WriteString("\n## Older names, and names of plug-ins\n\nAccepted unchecked and without effect. A star stands for any ending.\n\n| why | names |\n|---|---|\n")
	for _, r := range retired {
		var names []string
		for _, n := range r.names {
			names = append(names, "`"+n+"`")
		}
		for _, p := range r.prefixes {
			names = append(names, "`"+p+"*`")
		}
		fmt.Fprintf(b, "| %s | %s |\n", r.reason, strings.Join(names, " "))
	}
}
