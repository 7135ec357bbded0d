package cli

import (
	"io"
	"path/filepath"
	"testing"
	"time"
)

// A worker is known on its host by the directory of its state: named from where it starts, workers
// that start elsewhere would be taken for it.
func TestAWorkersStateIsNamedFromTheRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	c := factory{&cli{screen: screen{env: Env{Err: io.Discard, ConfigDir: t.TempDir(), Getenv: func(name string) string {
		return map[string]string{"FLEETBOARD_URL": "https://fleetboard.example", "FLEETBOARD_ENROLMENT_TOKEN": "fb_enrolment_x"}[name]
	}}}}}
	o, err := c.options(workerFlags{repos: ".", state: "state", name: "desk", engines: []string{"scripted"}, seats: 1, lease: time.Minute,
		beat: time.Second, retry: time.Minute, forgePoll: time.Minute, noTools: true})
	if err != nil || !filepath.IsAbs(o.State) || o.State != o.Repos.State {
		t.Errorf("the state is %q, %v", o.State, err)
	}
}
