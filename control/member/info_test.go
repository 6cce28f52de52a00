package member

import (
	"maps"
	"testing"

	"github.com/ringmill/ringmill/wire"
)

func TestTagsAreReadAsTheyWereWritten(t *testing.T) {
	for _, want := range []Info{
		{Expect: 1},
		{NodeID: 3, DirectoryID: wire.UUID{1, 2}, ClusterID: "c", Addr: "10.0.0.7:9092", Rack: "a b", Version: "0.1", Expect: 3, Bootstrapped: true},
	} {
		tags := want.Tags()
		tags["later"] = "x"
		if got, ok := ReadTags(tags); !ok || got != want {
			t.Errorf("got %+v, %t; want %+v", got, ok, want)
		}
	}
}

func TestTagsOfOthersAreRefused(t *testing.T) {
	good := Info{NodeID: 1, Expect: 1}.Tags()
	for name, value := range map[string]string{tagNodeID: "-1", tagDirectoryID: "x", tagExpect: "0"} {
		for _, bad := range []string{value, ""} {
			tags := maps.Clone(good)
			tags[name] = bad
			if got, ok := ReadTags(tags); ok {
				t.Errorf("%s=%q is read as %+v", name, bad, got)
			}
		}
	}
}
