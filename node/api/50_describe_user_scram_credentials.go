package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
	"github.com/ringmill/ringmill/wire"
)

var describeUserSCRAMCredentialsRow = row{key: wire.KeyDescribeUserSCRAMCredentials, min: 0, max: 0, handle: on(describeUserSCRAMCredentials),
	authorize: inCluster(describeClusterNeed, refusedSCRAMDescription)}

// describeUserSCRAMCredentials (KIP-554) tells of mechanisms and iterations alone. Without names it tells of all users.
func describeUserSCRAMCredentials(b Broker, _ *Request, req *kmsg.DescribeUserSCRAMCredentialsRequest) *kmsg.DescribeUserSCRAMCredentialsResponse {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	resp.ErrorMessage = kmsg.StringPtr("") // as Kafka says that all is well, of each user too
	m := b.Image()
	named := map[string]int{}
	for i := range req.Users {
		named[req.Users[i].Name]++
	}
	for i := range req.Users {
		if name := req.Users[i].Name; takeOnce(named, name) {
			resp.Results = append(resp.Results, describedSCRAMUser(m, name, named[name] != 1))
		}
	}
	if len(req.Users) > 0 {
		return resp
	}
	for _, u := range m.SCRAMUsers() {
		if last := len(resp.Results) - 1; last < 0 || resp.Results[last].User != u.Name {
			resp.Results = append(resp.Results, describedSCRAMUser(m, u.Name, false))
		}
	}
	return resp
}

func describedSCRAMUser(m *image.Image, name string, twice bool) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	out.User = name
	why := refuse(wire.DuplicateResource, "Cannot describe SCRAM credentials for the same user twice in a single request: %s", name)
	if !twice {
		if out.CredentialInfos = scramInfos(m, name); len(out.CredentialInfos) > 0 {
			out.ErrorMessage = kmsg.StringPtr("")
			return out
		}
		why = refuse(wire.ResourceNotFound, "Attempt to describe a user credential that does not exist: %s", name)
	}
	out.ErrorCode, out.ErrorMessage = int16(why.code), why.text()
	return out
}

func scramInfos(m *image.Image, name string) (infos []kmsg.DescribeUserSCRAMCredentialsResponseResultCredentialInfo) {
	for _, mechanism := range image.SCRAMMechanisms {
		if c := m.SCRAMCredential(image.SCRAMUser{Name: name, Mechanism: mechanism}); c != nil {
			info := kmsg.NewDescribeUserSCRAMCredentialsResponseResultCredentialInfo()
			info.Mechanism, info.Iterations = int8(mechanism), c.Iterations
			infos = append(infos, info)
		}
	}
	return infos
}

// refusedSCRAMDescription names no user and says nothing, as Kafka's; who asks it about all users is not answered at all.
func refusedSCRAMDescription(req *kmsg.DescribeUserSCRAMCredentialsRequest, why refusal) kmsg.Response {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	resp.ErrorCode = int16(why.code)
	for range req.Users {
		out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
		out.ErrorCode = int16(why.code)
		resp.Results = append(resp.Results, out)
	}
	return resp
}
