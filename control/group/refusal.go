package group

import (
	"fmt"

	"github.com/ringmill/ringmill/wire"
)

// refusal is a code with the words that explain it; accepted refuses nothing.
type refusal struct {
	code    wire.ErrorCode
	message string
}

var accepted = refusal{}

func refuse(code wire.ErrorCode, format string, args ...any) refusal {
	return refusal{code, fmt.Sprintf(format, args...)}
}

// text is the message as answers carry it; nil if there is none.
func (r refusal) text() *string {
	if r.message == "" {
		return nil
	}
	return &r.message
}
