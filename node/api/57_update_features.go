package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/control/controller"
	"github.com/ringmill/ringmill/wire"
)

var updateFeaturesRow = row{key: wire.KeyUpdateFeatures, min: 0, max: 2, handle: on(updateFeatures), authorize: inCluster(alterCluster, refusedWhole)}

// The kinds of updates (KIP-778); version 0 says with a flag that a level may be lowered.
const (
	featureUpgrade         int8 = 1
	featureSafeDowngrade   int8 = 2
	featureUnsafeDowngrade int8 = 3

	featureUpgradeTypesFrom  = 1
	featureResultsUntil      = 1
	featureUpdateFailed      = "The update failed for all features since the following feature had an error: "
	featureUpdateProblemWith = "Invalid update version %d for feature %s. "
)

// updateFeatures: share.version and, in a cluster whose nodes all know it, ringmill.format can be set; any other feature is finalized at the one level that is built, so an update to
// that level changes nothing and any other is refused, where Kafka would lower some. One refused update is the answer to
// all.
func updateFeatures(b Broker, _ *Request, req *kmsg.UpdateFeaturesRequest) *kmsg.UpdateFeaturesResponse {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	levels := map[string]int16{}
	for i := range req.FeatureUpdates {
		u := &req.FeatureUpdates[i]
		if why := checkFeatureUpdate(b, u, upgradeType(u, req.Version)); why.code != wire.None {
			return refusedFeatures(why.code, featureUpdateFailed+why.message)
		}
		if f := featureNamed(b, u.Feature); f.level(b) != u.MaxVersionLevel {
			levels[u.Feature] = u.MaxVersionLevel
		}
		if req.Version <= featureResultsUntil {
			out := kmsg.NewUpdateFeaturesResponseResult()
			out.Feature, out.ErrorMessage = u.Feature, kmsg.StringPtr(wire.None.String())
			resp.Results = append(resp.Results, out)
		}
	}
	if len(levels) > 0 && !req.ValidateOnly {
		if code, message := b.SetFeatures(levels); code != wire.None {
			return refusedFeatures(code, message)
		}
	}
	return resp
}

func refusedFeatures(code wire.ErrorCode, message string) *kmsg.UpdateFeaturesResponse {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	resp.ErrorCode, resp.ErrorMessage = int16(code), &message
	return resp
}

func upgradeType(u *kmsg.UpdateFeaturesRequestFeatureUpdate, version int16) int8 {
	switch {
	case version >= featureUpgradeTypesFrom:
		return u.UpgradeType
	case u.AllowDowngrade:
		return featureSafeDowngrade
	}
	return featureUpgrade
}

func checkFeatureUpdate(b Broker, u *kmsg.UpdateFeaturesRequestFeatureUpdate, kind int8) refusal {
	invalid := func(problem string, args ...any) refusal {
		return refuse(wire.InvalidUpdateVersion, featureUpdateProblemWith+problem, append([]any{u.MaxVersionLevel, u.Feature}, args...)...)
	}
	f, node, level := featureNamed(b, u.Feature), b.Config().NodeID, u.MaxVersionLevel
	switch {
	case kind < featureUpgrade || kind > featureUnsafeDowngrade:
		return invalid("The controller does not support the given upgrade type.")
	case level < 0:
		return invalid("A feature version cannot be less than 0.")
	case f == nil:
		return invalid("Local controller %d does not support this feature.", node)
	case level != 0 && level < f.min || level > f.highest(b):
		return invalid("Local controller %d only supports versions %d-%d", node, f.min, f.highest(b))
	case level == f.level(b):
		return refusal{}
	case level < f.level(b) && kind == featureUpgrade:
		return invalid("Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.")
	case level < f.level(b) && f.lasting:
		return invalid("A level that was finalized is in the files of every node and cannot be taken back.")
	case f.alterable && level == 0: // nobody's any more, which every node knows
		return refusal{}
	case f.alterable:
		why := controller.CheckFeature(b.Image(), u.Feature, level)
		return refusal{why.Code, why.Message}
	}
	return invalid("This node has it at level %d and cannot change that while it runs.", f.level(b))
}
