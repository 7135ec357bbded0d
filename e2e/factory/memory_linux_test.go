package factory

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/e2e/envtest"
	"github.com/fleetboard/fleetboard/e2e/processtest"
)

// A worker stays small beside a diff of FLEETBOARD_DIFF_MB megabytes and a file of one long
// line, and the result says what was left out.
func TestAWorkerStaysSmallBesideALargeDiff(t *testing.T) {
	megabytes := envtest.Number(t, "FLEETBOARD_DIFF_MB", 120)
	s := newServerAndRepos(t)
	w := s.worker("desk")
	key := s.submit(step{"run": fmt.Sprintf(
		"for i in $(seq %d); do yes \"a line of file $i\" | head -c 8000000 > $i.txt; done; head -c %d000000 /dev/zero | tr '\\0' x > line.txt",
		megabytes/8, megabytes/2)})
	processtest.Until(t, patience+time.Duration(megabytes)*time.Second/2, "it is completed", func() bool { return s.job(key).Status == api.JobStatusCompleted })
	j := s.job(key)
	for _, want := range []string{fmt.Sprintf(`"files_changed":%d`, megabytes/8+1), `"whole_diff_shown":false`, `"patch_blob"`} {
		if !strings.Contains(strings.ReplaceAll(string(j.Result), `": `, `":`), want) {
			t.Errorf("the result lacks %s: %.300s", want, j.Result)
		}
	}
	if peak := peakMemory(w); peak > 100<<10 {
		t.Errorf("the worker took %d KB", peak)
	} else {
		t.Logf("beside a diff of %d MB the worker took %d KB", megabytes, peak)
	}
}

// peakMemory returns how much memory a process has taken at most, in KB.
func peakMemory(p *processtest.Process) int {
	p.T.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		p.T.Fatal(err)
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		p.T.Fatalf("the status is %s", status)
	}
	peak, err := strconv.Atoi(string(found[1]))
	if err != nil {
		p.T.Fatal(err)
	}
	return peak
}
