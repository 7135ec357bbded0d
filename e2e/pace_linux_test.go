//go:build browserbench

package e2e

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/db/dbtest"
	"github.com/fleetboard/fleetboard/e2e/envtest"
)

// watchPresses notes how long it takes from each press of a key to the picture that shows it.
const watchPresses = `() => {
	window.presses = [];
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) if (e.name === "keydown") presses.push(e.duration);
	}).observe({ type: "event", durationThreshold: 16 });
}`

// Three visible tabs of a board of 72 cards that changes 48 times a second: what a change takes of
// the wire, what the browser, the server and PostgreSQL take of a core, and how soon a press of a
// key shows. It lasts FLEETBOARD_E2E_PACE seconds, a minute otherwise, and fails for no figure.
func TestPaceOfABoardThatChanges(t *testing.T) {
	lasts := time.Duration(envtest.Number(t, "FLEETBOARD_E2E_PACE", 60)) * time.Second
	database := dbtest.URL(t)
	s := startOn(t, database, t.TempDir())
	change := fillBoard(t, s)
	v := s.visit(desktop)
	v.noWorker() // whose bytes the page's session does not count
	v.logIn()
	var wires []*wire
	for n := range 3 {
		tab := &visitor{t: t, s: s, tab: v.tab}
		if n > 0 {
			var err error
			tab.tab, err = v.tab.Context().NewPage()
			v.must("open a tab", err)
			tab.noWorker()
		}
		wires = append(wires, tab.wire())
		tab.open("/board")
		tab.live()
	}
	v.must("watch", v.evaluate(watchPresses))
	<-time.After(2 * time.Second) // what follows from the filling
	used := func() (bytes int, cpu map[string]int) {
		for _, w := range wires {
			bytes += w.of("/streams")
		}
		return bytes, processorTimes(t, s.cmd.Process.Pid, database)
	}
	bytesBefore, before := used()
	began, done := time.Now(), make(chan int)
	go func() {
		n := 0
		pace := time.NewTicker(time.Second / 48)
		defer pace.Stop()
		for ; time.Since(began) < lasts; n++ {
			<-pace.C
			change(n)
		}
		done <- n
	}()
	changes := 0
	for changes == 0 {
		select {
		case changes = <-done:
		default:
			v.must("press", v.tab.Keyboard().Press("j"))
			<-time.After(200 * time.Millisecond)
		}
	}
	seconds := time.Since(began).Seconds()
	bytes, after := used()
	load, err := os.ReadFile("/proc/loadavg")
	v.must("read the load", err)
	t.Logf("%d changes in %.1f s, %d bytes a change and tab; load %s", changes, seconds, (bytes-bytesBefore)/changes/len(wires), load)
	for name, n := range after {
		t.Logf("%s: %.0f %% of a core", name, float64(n-before[name])/seconds)
	}
	t.Logf("presses: %s", v.text(`(() => { const l = presses.sort((a, b) => a - b), at = (p) => l[Math.floor(l.length * p)];
		return l.length + " took 16 ms or more, p50 " + at(0.5) + " ms, p95 " + at(0.95) + " ms, longest " + l.at(-1) + " ms" })()`))
}

// processorTimes returns the hundredths of a second that a server, the connections of its database
// and the browser of this test have taken of the processors.
func processorTimes(t *testing.T, server int, databaseURL string) map[string]int {
	t.Helper()
	at, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	parents, names, times := map[string]string{}, map[string]string{}, map[string]int{}
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		stat, err2 := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil || err2 != nil {
			continue // it has ended
		}
		pid, fields := filepath.Base(dir), strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		var user, system int
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			t.Fatal(err)
		}
		parents[pid], times[pid] = fields[1], user+system
		switch text := string(line); {
		case pid == strconv.Itoa(server):
			names[pid] = "server"
		case strings.HasPrefix(text, "postgres: ") && strings.Contains(text, " "+strings.TrimPrefix(at.Path, "/")+" "):
			names[pid] = "PostgreSQL"
		case strings.Contains(text, "chrom"):
			names[pid] = "browser"
		}
	}
	ours := func(pid string) bool {
		for ; pid != "" && pid != "0"; pid = parents[pid] {
			if pid == strconv.Itoa(os.Getpid()) {
				return true
			}
		}
		return false
	}
	all := map[string]int{}
	for pid, name := range names {
		if name != "browser" || ours(pid) {
			all[name] += times[pid]
		}
	}
	return all
}
