package handlertest

import (
	"bufio"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// LiveTarget finds the address of a page's stream.
var LiveTarget = regexp.MustCompile(`hx-sse:connect="([^"]+)"`)

// Reader is an open board of one role.
type Reader struct {
	Name   string
	Role   tenancy.Role
	Stream *Stream
}

// Patience is how long a test waits for what must come. No test on a loaded machine
// comes near it; a test that waits in vain ends by it with a message of its own.
const Patience = 2 * time.Minute

// Stream is an open connection to /live.
type Stream struct {
	t    *testing.T
	Res  *http.Response
	read *bufio.Reader
}

// Message is one event of a stream.
type Message struct{ ID, Event, Data string }
