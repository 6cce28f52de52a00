package api

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

func featureUpdates(updates ...kmsg.UpdateFeaturesRequestFeatureUpdate) *kmsg.UpdateFeaturesRequest {
	req := kmsg.NewPtrUpdateFeaturesRequest()
	req.FeatureUpdates = updates
	return req
}

func featureUpdate(name string, level int16, kind int8) kmsg.UpdateFeaturesRequestFeatureUpdate {
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType, u.AllowDowngrade = name, level, kind, kind > featureUpgrade
	return u
}

// TestUpdateFeatures has the answers of Apache Kafka 4.1.1, but for those that lower a level, which it would do.
func TestUpdateFeatures(t *testing.T) {
	const notLower = "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade."
	for _, c := range []struct {
		name    string
		level   int16
		kind    int8
		problem string // "" for none
	}{
		{"group.version", 1, featureUpgrade, ""},
		{"transaction.version", 2, featureSafeDowngrade, ""},
		{"metadata.version", 27, featureUpgrade, ""},
		{"nope", 1, featureUpgrade, "Local controller 1 does not support this feature."},
		{"", 1, featureUpgrade, "Local controller 1 does not support this feature."},
		{"group.version", 9, featureUpgrade, "Local controller 1 only supports versions 0-1"},
		{"metadata.version", 28, featureUpgrade, "Local controller 1 only supports versions 7-27"},
		{"metadata.version", 3, featureUnsafeDowngrade, "Local controller 1 only supports versions 7-27"},
		{"group.version", 0, featureUpgrade, notLower},
		{"transaction.version", 1, featureUpgrade, notLower},
		{"metadata.version", 26, featureUpgrade, notLower},
		{"group.version", -1, featureUpgrade, "A feature version cannot be less than 0."},
		{"group.version", 1, 0, "The controller does not support the given upgrade type."},
		{"group.version", 1, 9, "The controller does not support the given upgrade type."},
		{"transaction.version", 1, featureSafeDowngrade, "This node has it at level 2 and cannot change that while it runs."},
		{"metadata.version", 26, featureUnsafeDowngrade, "This node has it at level 27 and cannot change that while it runs."},
	} {
		got := ask[*kmsg.UpdateFeaturesResponse](t, newFakeBroker(t), 2, featureUpdates(featureUpdate(c.name, c.level, c.kind)))
		if refused := got.ErrorCode == int16(wire.InvalidUpdateVersion); refused != (c.problem != "") || !strings.HasSuffix(text(got.ErrorMessage), c.problem) {
			t.Errorf("%s %d %d: %d %s", c.name, c.level, c.kind, got.ErrorCode, text(got.ErrorMessage))
		}
	}
}

// TestFeaturesOfACluster: the quorum's and the eligible replicas' features are there in a cluster, at 1, and not on a node of its own.
func TestFeaturesOfACluster(t *testing.T) {
	for _, name := range []string{"kraft.version", "eligible.leader.replicas.version"} {
		alone, clustered := newFakeBroker(t), newFakeBroker(t)
		clustered.clustered = true
		for _, c := range []struct {
			b    *fakeBroker
			code wire.ErrorCode
			told bool
		}{{alone, wire.InvalidUpdateVersion, false}, {clustered, wire.None, true}} {
			got := ask[*kmsg.UpdateFeaturesResponse](t, c.b, 2, featureUpdates(featureUpdate(name, 1, featureUpgrade)))
			told := featuresOf(ask[*kmsg.ApiVersionsResponse](t, c.b, 4, apiVersionsRequest("x", "1")))
			if wire.ErrorCode(got.ErrorCode) != c.code || strings.Contains(told[0], name+":0-1") != c.told || strings.Contains(told[1], name+":1-1") != c.told {
				t.Errorf("%s, clustered %t: %d, %v", name, c.b.clustered, got.ErrorCode, told)
			}
		}
	}
}

func TestUpdateFeaturesByVersion(t *testing.T) {
	const message = "The update failed for all features since the following feature had an error: " +
		"Invalid update version 9 for feature group.version. Local controller 1 only supports versions 0-1"
	good, bad := featureUpdate("group.version", 1, featureUpgrade), featureUpdate("group.version", 9, featureUpgrade)
	for v := int16(0); v <= 2; v++ {
		got := ask[*kmsg.UpdateFeaturesResponse](t, newFakeBroker(t), v, featureUpdates(good))
		results := len(got.Results) == 1 && got.Results[0].Feature == "group.version" && text(got.Results[0].ErrorMessage) == "NONE"
		if got.ErrorCode != 0 || text(got.ErrorMessage) != "<null>" || results != (v < 2) {
			t.Errorf("version %d: %+v", v, got)
		}
		got = ask[*kmsg.UpdateFeaturesResponse](t, newFakeBroker(t), v, featureUpdates(good, bad))
		if got.ErrorCode != 95 || text(got.ErrorMessage) != message || len(got.Results) != 0 {
			t.Errorf("version %d: %+v", v, got)
		}
	}
}

// TestFeaturesWithoutTheConsumerProtocol: what the configuration leaves out is not finalized.
func TestFeaturesWithoutTheConsumerProtocol(t *testing.T) {
	b := newFakeBroker(t, "group.coordinator.rebalance.protocols=classic")
	told := featuresOf(ask[*kmsg.ApiVersionsResponse](t, b, 4, apiVersionsRequest("x", "1")))
	if told[1] != "transaction.version:2-2 share.version:1-1 metadata.version:27-27" {
		t.Error(told)
	}
}
