package factory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// An exporter and the server are killed at any moment while messages are sent: in the end
// the file holds each message once, in the order of its position. FLEETBOARD_EXPORT_KILLS says how
// often one of them is killed, 50 for the whole test.
func TestAnExportUnderKills(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	file := filepath.Join(s.dir, "bus.jsonl")
	exporter := &processtest.Process{T: t, Path: fleetBinary, Args: []string{"bus", "export", "disk", "--follow", "-o", file},
		Env: []string{"FLEETBOARD_URL=" + s.url(), "FLEETBOARD_TOKEN=" + s.token("owner-token"), "HOME=" + s.dir}}
	exporter.Start()
	ctx, stop := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	sent := 0
	sending.Go(func() { sent = s.chatter(ctx) })
	for range envtest.Number(t, "FLEETBOARD_EXPORT_KILLS", 6) {
		<-time.After(time.Duration(rand.IntN(700)) * time.Millisecond) // the moment is chance
		if rand.IntN(3) == 0 {
			s.server.Kill()
			s.startServer()
			continue
		}
		exporter.Kill()
		exporter.Start()
	}
	stop()
	sending.Wait()
	s.until("all is in the file", func() bool { return len(positions(t, file)) >= sent })
	exporter.Kill()
	last := int64(0)
	for _, at := range positions(t, file) {
		if at <= last {
			t.Fatalf("position %d stands behind %d", at, last)
		}
		last = at
	}
	if n := len(positions(t, file)); n != sent {
		t.Errorf("%d lines; %d messages were sent", n, sent)
	}
	t.Logf("%d messages", sent)
}

// chatter sends messages until ctx ends, each under its own id until the server has it, and
// says how many.
func (s *serverAndRepos) chatter(ctx context.Context) (sent int) {
	role, id := "worker", ""
	for ctx.Err() == nil || id != "" {
		if id == "" {
			id = fmt.Sprintf("00000000-0000-7000-8000-%012d", sent+1)
		}
		m := api.NewMessage{ID: &id, Type: "custom.chatter", To: api.NewMessageAddress{Role: &role}}
		answer, err := s.person.SendMessageWithResponse(s.t.Context(), m)
		if err == nil && (answer.JSON200 != nil || answer.JSON201 != nil) {
			sent, id = sent+1, ""
		}
	}
	return sent
}

// positions returns those of the lines of a file; one that is being written does not count.
func positions(t *testing.T, file string) (list []int64) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var said struct {
			Message struct{ Seq int64 }
		}
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &said); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, said.Message.Seq)
	}
	return list
}
