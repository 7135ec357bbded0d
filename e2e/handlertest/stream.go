package handlertest

import (
	"bufio"
	"net/http"
	"regexp"
	"testing"
	"time"

	"fleetboard/internal/tenancy"
)

// LiveTarget finds the address of a page's stream.
var LiveTarget = regexp.MustCompile(`hx-sse:connect="([^"]+)"`)

// Reader is an open board of one role.
type Reader struct {
	Name   string
	Role   tenancy.Role
	Stream *Stream
}

// Patience is how long a test waits for what must come.
const Patience = 20 * time.Second

// Stream is an open connection to /live.
type Stream struct {
	t    *testing.T
	Res  *http.Response
	read *bufio.Reader
}

// Message is one event of a stream.
type Message struct{ ID, Event, Data string }
