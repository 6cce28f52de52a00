package diskfaults

import (
	"testing"

	"github.com/ringmill/ringmill/tests/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
