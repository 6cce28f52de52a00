package member

// RequestKind is what a request of the agreement asks for.
type RequestKind uint8

// The requests. Promise, Commit and Release go from the candidate to its voters, Ask from a voter to the candidate and,
// since they may know, to the other voters.
const (
	Promise RequestKind = iota + 1 // be held by the proposal, until it is committed or released
	Commit                         // the proposal is committed: begin the cluster
	Release                        // the candidate has given the proposal up, for good
	Ask                            // what has become of the proposal?
)

// String names the kind.
func (k RequestKind) String() string {
	switch k {
	case Promise:
		return "promise"
	case Commit:
		return "commit"
	case Release:
		return "release"
	case Ask:
		return "ask"
	}
	return "unknown"
}

// Request is sent to a voter. It can be sent again, arrive twice, late or never.
type Request struct {
	Kind     RequestKind
	Proposal *Proposal
}

// AnswerKind is what became of a request.
type AnswerKind uint8

// The answers.
const (
	Granted   AnswerKind = iota + 1 // it is done, and durable
	Committed                       // the proposal is committed
	Released                        // the proposal is given up: only the candidate's word counts
	Pending                         // not known, or not decided
	Refused                         // not now, for the Reason
)

// String names the kind.
func (k AnswerKind) String() string {
	switch k {
	case Granted:
		return "granted"
	case Committed:
		return "committed"
	case Released:
		return "released"
	case Pending:
		return "pending"
	case Refused:
		return "refused"
	}
	return "unknown"
}

// Answer to a Request.
type Answer struct {
	Kind   AnswerKind
	Reason string // of Refused, for people
}

// reasonMax bounds an answer's reason, in bytes.
const reasonMax = 1024

func refuse(reason string) Answer {
	return Answer{Kind: Refused, Reason: reason[:min(len(reason), reasonMax)]}
}

// Send is a request on its way.
type Send struct {
	To Voter
	Request
}

// Decision is what the agreement comes to. It is made once.
type Decision struct {
	// Join: there is a cluster, and this node is to be a learner of it. Else the node is one of the first voters.
	Join      bool
	ClusterID string
	Voters    []Voter // all of the first voters; nil with Join
	Initial   []byte  // what their metadata begins with
}

// Effects are what the caller has to do, in this order. Save comes before all else, and before the answer to a request that
// came with it: a failed save is final, and nothing may be sent, answered or decided after it.
type Effects struct {
	Save     []byte // nil, or what is to replace the state on disk, whole and durable
	Send     []Send
	Decision *Decision
	Notice   string // "", or a line for the log: what the node waits for has changed
}
