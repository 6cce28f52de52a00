package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/image"
)

// What an authorizer keeps from who asks. Nodes leave out what they may not tell, and do not say so: what is told is then no sign that all is well.
var (
	errQuorumHidden = errors.New("not allowed to see the metadata quorum, nor voters that are gone")
	errTopicsHidden = errors.New("not allowed to see all topics, nor what is wrong with their partitions")
	errDrainsHidden = errors.New("not allowed to see which nodes are drained")
)

// shownBy are the ACLs that show what is hidden.
var shownBy = []struct {
	hidden error
	acl    string
}{
	{errQuorumHidden, "--cluster --operation describe"},
	{errTopicsHidden, "--topic '*' --operation describe"},
	{errDrainsHidden, "--cluster --operation describe_configs"},
}

// hidden notes as a problem what err says that is hidden, and says whether it does.
func (s *clusterStatus) hidden(err error) bool {
	for _, by := range shownBy {
		if errors.Is(err, by.hidden) {
			s.Problems = append(s.Problems, problem{err.Error(), "ask as one who is, or: ringmill acl add --principal PRINCIPAL " + by.acl})
			return true
		}
	}
	return false
}

// topicsHidden gives errTopicsHidden where who asks may not see all topics that there are. A list of topics is without those, and does not tell. So one is
// asked for by its name: who may not see it is told so, whether it is there or not.
func topicsHidden(ctx context.Context, client *kgo.Client) error {
	req, t := kmsg.NewPtrMetadataRequest(), kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(image.ConsumerOffsetsTopic)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return cause(err)
	}
	if len(resp.Topics) == 1 && errors.Is(kerr.ErrorForCode(resp.Topics[0].ErrorCode), kerr.TopicAuthorizationFailed) {
		return errTopicsHidden
	}
	return nil
}
