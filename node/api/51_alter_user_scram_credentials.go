package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var alterUserSCRAMCredentialsRow = row{key: wire.KeyAlterUserSCRAMCredentials, min: 0, max: 0, handle: on(alterUserSCRAMCredentials),
	authorize: inCluster(alterCluster, refusedSCRAMAlteration)}

const (
	// scramIterationsMax bounds what a login costs a client, as Apache Kafka 4.1.1 does.
	scramIterationsMax = 16384
	// scramChangesMax bounds the credentials that one request changes: Kafka's largest change of its metadata.
	scramChangesMax = 10_000
)

// alterUserSCRAMCredentials (KIP-554): each user is answered once, and can be altered once. What is wrong with one does not keep the
// others from theirs.
func alterUserSCRAMCredentials(b Broker, _ *Request, req *kmsg.AlterUserSCRAMCredentialsRequest) *kmsg.AlterUserSCRAMCredentialsResponse {
	a := scramAlteration{req: req}
	if len(req.Deletions)+len(req.Upsertions) > scramChangesMax {
		return a.refused(refuse(wire.PolicyViolation, "Request parameters do not satisfy the configured policy."))
	}
	a.hash()
	if code, message := b.ChangeMetadata(a.decide); code != wire.None {
		return a.refused(refusal{code, message})
	}
	return a.response()
}

// scramAlteration is one AlterUserScramCredentials being answered.
type scramAlteration struct {
	req   *kmsg.AlterUserSCRAMCredentialsRequest
	made  []image.SCRAMCredential // of each upsertion that is not refused
	whys  []refusal               // of each upsertion, whatever else is asked for its user
	users []*scramChange          // in the order of the request
}

// scramChange is what becomes of one user; a nil record changes nothing.
type scramChange struct {
	name   string
	record image.Record
	why    refusal
}

// hash makes the credentials before the metadata is held for the change.
func (a *scramAlteration) hash() {
	a.made, a.whys = make([]image.SCRAMCredential, len(a.req.Upsertions)), make([]refusal, len(a.req.Upsertions))
	for i := range a.req.Upsertions {
		u := &a.req.Upsertions[i]
		if a.whys[i] = checkSCRAMUpsertion(u); a.whys[i].code == wire.None {
			a.made[i] = scramCredentialOf(u)
		}
	}
}

// decide judges the request by the newest metadata: deletions first, then upsertions. Kafka leaves a user's first error as it is.
func (a *scramAlteration) decide(m *image.Image) (records []image.Record) {
	byName := make(map[string]*scramChange, len(a.req.Deletions)+len(a.req.Upsertions))
	take := func(name string, why refusal, record image.Record) {
		c, again := byName[name]
		switch {
		case !again:
			c = &scramChange{name: name, why: why, record: record}
			byName[name] = c
			a.users = append(a.users, c)
		case c.why.code == wire.None:
			c.why = refuse(wire.DuplicateResource, "A user credential cannot be altered twice in the same request")
		}
	}
	for i := range a.req.Deletions {
		u := scramUser(a.req.Deletions[i].Name, a.req.Deletions[i].Mechanism)
		take(u.Name, checkSCRAMDeletion(m, u), image.RemoveUserSCRAMCredentialRecord{SCRAMUser: u})
	}
	for i := range a.req.Upsertions {
		u := scramUser(a.req.Upsertions[i].Name, a.req.Upsertions[i].Mechanism)
		take(u.Name, a.whys[i], image.UserSCRAMCredentialRecord{SCRAMUser: u, SCRAMCredential: a.made[i]})
	}
	for _, c := range a.users {
		if c.why.code == wire.None {
			records = append(records, c.record)
		}
	}
	return records
}

func scramUser(name string, mechanism int8) image.SCRAMUser {
	return image.SCRAMUser{Name: name, Mechanism: image.SCRAMMechanism(mechanism)}
}

func checkSCRAMUser(u image.SCRAMUser) refusal {
	switch {
	case u.Name == "":
		return refuse(wire.UnacceptableCredential, "Username must not be empty")
	case !utf8.ValidString(u.Name):
		return refuse(wire.UnacceptableCredential, "Username must be UTF-8")
	case !u.Mechanism.Known():
		return refuse(wire.UnsupportedSASLMechanism, "Unknown SCRAM mechanism")
	}
	return refusal{}
}

func checkSCRAMDeletion(m *image.Image, u image.SCRAMUser) refusal {
	if why := checkSCRAMUser(u); why.code != wire.None {
		return why
	}
	if m.SCRAMCredential(u) == nil {
		return refuse(wire.ResourceNotFound, "Attempt to delete a user credential that does not exist")
	}
	return refusal{}
}

func checkSCRAMUpsertion(u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) refusal {
	why := checkSCRAMUser(scramUser(u.Name, u.Mechanism))
	switch {
	case why.code != wire.None:
	case u.Iterations < image.SCRAMIterationsMin:
		why = refuse(wire.UnacceptableCredential, "Too few iterations")
	case u.Iterations > scramIterationsMax:
		why = refuse(wire.UnacceptableCredential, "Too many iterations")
	case len(u.SaltedPassword) == 0:
		why = refuse(wire.UnacceptableCredential, "The salted password must not be empty")
	}
	return why
}

// scramCredentialOf keeps what a server needs of a salted password (RFC 5802, section 3). The password itself never comes here, and
// the salted one, with which anybody could pass for the user, goes no further.
func scramCredentialOf(u *kmsg.AlterUserSCRAMCredentialsRequestUpsertion) image.SCRAMCredential {
	newHash := sha256.New
	if image.SCRAMMechanism(u.Mechanism) == image.SCRAMSHA512 {
		newHash = sha512.New
	}
	stored := newHash()
	stored.Write(scramKey(newHash, u.SaltedPassword, "Client Key"))
	return image.SCRAMCredential{
		Salt: append([]byte{}, u.Salt...), StoredKey: stored.Sum(nil), ServerKey: scramKey(newHash, u.SaltedPassword, "Server Key"), Iterations: u.Iterations,
	}
}

func scramKey(newHash func() hash.Hash, saltedPassword []byte, name string) []byte {
	mac := hmac.New(newHash, saltedPassword)
	mac.Write([]byte(name))
	return mac.Sum(nil)
}

// refused is one answer to all users.
func (a *scramAlteration) refused(why refusal) *kmsg.AlterUserSCRAMCredentialsResponse {
	a.users = nil
	named := make(map[string]bool)
	add := func(name string) {
		if !named[name] {
			named[name] = true
			a.users = append(a.users, &scramChange{name: name, why: why})
		}
	}
	for i := range a.req.Deletions {
		add(a.req.Deletions[i].Name)
	}
	for i := range a.req.Upsertions {
		add(a.req.Upsertions[i].Name)
	}
	return a.response()
}

func (a *scramAlteration) response() *kmsg.AlterUserSCRAMCredentialsResponse {
	resp := kmsg.NewPtrAlterUserSCRAMCredentialsResponse()
	for _, c := range a.users {
		out := kmsg.NewAlterUserSCRAMCredentialsResponseResult()
		out.User, out.ErrorCode, out.ErrorMessage = c.name, int16(c.why.code), c.why.text()
		resp.Results = append(resp.Results, out)
	}
	return resp
}

func refusedSCRAMAlteration(req *kmsg.AlterUserSCRAMCredentialsRequest, why refusal) kmsg.Response {
	a := scramAlteration{req: req}
	return a.refused(why)
}
