package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/signal"
)

// Each file is told once, all of them again after a failure, and none once the server refuses them.
func TestTouchedFilesAreToldOnce(t *testing.T) {
	l := newLease("FB-1", 1, 0)
	w := &Worker{}
	w.Log, w.beatNow = slog.New(slog.DiscardHandler), signal.New()
	tell := func(err error, want ...string) {
		t.Helper()
		files := takeTouched([]*lease{l})
		if !slices.Equal(files[l], want) {
			t.Errorf("it tells %v; want %v", files[l], want)
		}
		w.noteTouched(files, err)
	}
	tell(nil)
	l.files.see([]string{"a", "b"})
	tell(nil, "a", "b")
	l.files.see([]string{"a", "b", "c"})
	tell(nil, "c")
	tell(errors.New("connection refused"))
	tell(nil, "a", "b", "c")
	tell(nil)
	many := make([]string, api.MaxProgressReportFilesTouched+1)
	for i := range many {
		many[i] = fmt.Sprint("many/", i)
	}
	l.files.see(many)
	if n := len(takeTouched([]*lease{l})[l]); n != api.MaxProgressReportFilesTouched {
		t.Errorf("it tells %d at once", n)
	}
	long := slices.Repeat([]string{strings.Repeat("x", 500)}, 1000)
	l.files.see(long)
	if n := len(takeTouched([]*lease{l})[l]); n != maxToldBytes/500 {
		t.Errorf("it tells %d long ones at once", n)
	}
	l.files.see([]string{"z"})
	tell(&api.Error{Problem: api.Problem{Code: api.ProblemCodeValidationFailed}}, "z")
	tell(nil)
}

// However many files are told of how many attempts, the heartbeat is no longer than a body may be.
func TestTouchedFilesLeaveRoomInAHeartbeat(t *testing.T) {
	var held []*lease
	for i := range 5 {
		l := newLease(fmt.Sprint("FB-", i), 1, 0)
		files := make([]string, api.MaxProgressReportFilesTouched)
		for n := range files {
			files[n] = fmt.Sprintf("internal/package/of/%d/%d", i, n)
		}
		l.files.see(files)
		held = append(held, l)
	}
	told := 0
	body := []any{}
	for _, list := range takeTouched(held) {
		told += len(list)
		body = append(body, list)
	}
	raw, err := json.Marshal(body)
	const bodyLimit, others = 256 << 10, 32 << 10
	if err != nil || len(raw) > bodyLimit-others || told < 2*api.MaxProgressReportFilesTouched {
		t.Errorf("%d files are %d bytes, %v", told, len(raw), err)
	}
}

// The server refuses no name that the worker tells.
func TestTouchedNamesAreThoseThatTheServerTakes(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "secret", "[hidden]") }
	got := touchedNames([]string{"a/b.go", "a\nb", "x\xff", "{a,b}", ".git/config", "sub/.GIT/x", "../x", "a//b", "keys/secret.pem",
		strings.Repeat("\U0001F600", 400), " ", strings.Repeat("d/", 400)}, hide)
	want := []string{"a/b.go", `a\nb`, `x\377`, `\173a\054b\175`, "keys/[hidden].pem", `\040`}
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("it tells %q", got)
	}
}
