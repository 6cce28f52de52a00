package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

var describeUserSCRAMCredentialsRow = row{key: wire.KeyDescribeUserSCRAMCredentials, min: 0, max: 0, handle: on(describeUserSCRAMCredentials)}

// describeUserSCRAMCredentials (KIP-554): no user has any. kafka-configs asks whenever it describes a user, for whose quotas too.
func describeUserSCRAMCredentials(_ Broker, _ *Request, req *kmsg.DescribeUserSCRAMCredentialsRequest) *kmsg.DescribeUserSCRAMCredentialsResponse {
	resp := kmsg.NewPtrDescribeUserSCRAMCredentialsResponse()
	resp.ErrorMessage = kmsg.StringPtr("") // as Kafka says that all is well
	named := map[string]int{}
	for i := range req.Users {
		named[req.Users[i].Name]++
	}
	for i := range req.Users {
		name := req.Users[i].Name
		if takeOnce(named, name) {
			resp.Results = append(resp.Results, userWithoutCredentials(name, named[name] != 1))
		}
	}
	return resp
}

func userWithoutCredentials(name string, twice bool) kmsg.DescribeUserSCRAMCredentialsResponseResult {
	why := refuse(wire.ResourceNotFound, "Attempt to describe a user credential that does not exist: %s", name)
	if twice {
		why = refuse(wire.DuplicateResource, "Cannot describe SCRAM credentials for the same user twice in a single request: %s", name)
	}
	out := kmsg.NewDescribeUserSCRAMCredentialsResponseResult()
	out.User, out.ErrorCode, out.ErrorMessage = name, int16(why.code), why.text()
	return out
}
