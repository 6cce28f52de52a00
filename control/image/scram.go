package image

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// SCRAMMechanism is what a SCRAM credential is for (org.apache.kafka.clients.admin.ScramMechanism, with its numbers).
type SCRAMMechanism int8

// The mechanisms.
const (
	SCRAMSHA256 SCRAMMechanism = 1
	SCRAMSHA512 SCRAMMechanism = 2
)

// SCRAMMechanisms are the mechanisms in order.
var SCRAMMechanisms = [...]SCRAMMechanism{SCRAMSHA256, SCRAMSHA512}

// Known reports whether there is such a mechanism.
func (s SCRAMMechanism) Known() bool { return s.keyBytes() > 0 }

// keyBytes is how long the keys are: as the hash is. 0 for a mechanism that there is not.
func (s SCRAMMechanism) keyBytes() int {
	switch s {
	case SCRAMSHA256:
		return 32
	case SCRAMSHA512:
		return 64
	}
	return 0
}

// SCRAMUser is whose credential it is, and for what mechanism.
type SCRAMUser struct {
	Name      string         `json:"name"`
	Mechanism SCRAMMechanism `json:"mechanism"`
}

// SCRAMCredential is what a server keeps of a password (RFC 5802, section 3). Whoever has it can try passwords, and pass for the
// server: it is told to nobody, and fmt does not print it.
type SCRAMCredential struct {
	Salt       []byte `json:"salt"`
	StoredKey  []byte `json:"storedKey"` // the hash of the client's key: proves that the client knows it
	ServerKey  []byte `json:"serverKey"` // proves to the client that the server has the credential
	Iterations int32  `json:"iterations"`
}

// Format hides all but the iterations, whatever the verb.
func (c SCRAMCredential) Format(s fmt.State, _ rune) {
	_, _ = fmt.Fprintf(s, "{[hidden] iterations %d}", c.Iterations)
}

// SCRAMIterationsMin is the least number of times that a password may have been hashed, as RFC 7677 has it.
const SCRAMIterationsMin = 4096

// The reasons of a *RecordError of a UserSCRAMCredentialRecord or RemoveUserSCRAMCredentialRecord.
var (
	ErrSCRAMUser       = errors.New("a SCRAM credential is for a user with a name and a mechanism that is known")
	ErrSCRAMCredential = errors.New("a SCRAM credential has keys as long as its hash, and at least 4096 iterations")
	ErrNoCredential    = errors.New("the user has no SCRAM credential of that mechanism")
)

func (u SCRAMUser) check() error {
	switch {
	case !utf8.ValidString(u.Name):
		return ErrNotUTF8
	case u.Name == "" || !u.Mechanism.Known():
		return ErrSCRAMUser
	}
	return nil
}

func (e *editor) setSCRAM(r UserSCRAMCredentialRecord) error {
	if err := r.SCRAMUser.check(); err != nil {
		return err
	}
	c, n := r.SCRAMCredential, r.Mechanism.keyBytes()
	if len(c.StoredKey) != n || len(c.ServerKey) != n || c.Iterations < SCRAMIterationsMin {
		return ErrSCRAMCredential
	}
	e.ownSCRAM()
	e.next.scram[r.SCRAMUser] = &c
	return nil
}

func (e *editor) removeSCRAM(u SCRAMUser) error {
	if e.next.scram[u] == nil {
		return ErrNoCredential
	}
	e.ownSCRAM()
	delete(e.next.scram, u)
	return nil
}

// ownSCRAM copies the map on the edit's first change of it.
func (e *editor) ownSCRAM() {
	if e.scramOwned {
		return
	}
	e.scramOwned = true
	if e.next.scram = maps.Clone(e.next.scram); e.next.scram == nil {
		e.next.scram = make(map[SCRAMUser]*SCRAMCredential)
	}
}

// SCRAMCredential gives a user's credential, nil if there is none; read-only.
func (m *Image) SCRAMCredential(u SCRAMUser) *SCRAMCredential { return m.scram[u] }

// SCRAMUsers gives the users that have credentials, with each of their mechanisms, always in the same order.
func (m *Image) SCRAMUsers() []SCRAMUser {
	return slices.SortedFunc(maps.Keys(m.scram), compareSCRAMUsers)
}

func compareSCRAMUsers(a, b SCRAMUser) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Mechanism, b.Mechanism))
}

func sameSCRAM(a, b *SCRAMCredential) bool {
	return a == b || a.Iterations == b.Iterations &&
		bytes.Equal(a.Salt, b.Salt) && bytes.Equal(a.StoredKey, b.StoredKey) && bytes.Equal(a.ServerKey, b.ServerKey)
}
