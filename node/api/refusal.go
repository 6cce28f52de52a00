package api

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ringmill/ringmill/wire"
)

// refusal is a code and what explains it to a person; the zero value refuses nothing.
type refusal struct {
	code    wire.ErrorCode
	message string
}

func refuse(code wire.ErrorCode, format string, args ...any) refusal {
	return refusal{code, fmt.Sprintf(format, args...)}
}

// text is the message as responses carry it. Kafka has none for an exceeded quota.
func (r refusal) text() *string {
	if r.message == "" && r.code != wire.None && r.code != wire.ThrottlingQuotaExceeded {
		return kmsg.StringPtr(r.code.String())
	}
	return nullable(r.message)
}

// takeOnce reports whether the key k of a request, which names it times[k] times, has not been taken yet: what is named
// several times is answered once. It makes a count above 1 negative, which marks the key as answered.
func takeOnce[K comparable](times map[K]int, k K) bool {
	n := times[k]
	if n > 1 {
		times[k] = -n
	}
	return n > 0
}
