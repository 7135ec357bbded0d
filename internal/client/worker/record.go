package worker

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/internal/client/worker/outbox"
	"github.com/fleetboard/fleetboard/internal/client/worker/repos"
)

// remains is what an attempt leaves for the next one in the job's checkpoint.
type remains struct {
	Engine  string `json:"engine,omitempty"`
	Session string `json:"session,omitempty"` // of the engine, on the factory
	Factory string `json:"factory,omitempty"`
	Branch  string `json:"branch,omitempty"`
	Commit  string `json:"commit,omitempty"` // the newest on the branch
	// PullRequest is the number of the one that merges; its address stands in the checkpoint.
	PullRequest int `json:"pull_request,omitempty"`
	// Filed are the keys of the jobs that were filed, which messages are about.
	Filed []string `json:"filed,omitempty"`
	// Agent is what the agent itself saved.
	Agent json.RawMessage `json:"agent,omitempty"`
}

// checkpoint is the form of a job's checkpoint that workers write.
type checkpoint struct {
	// URL is the address of the pull request that a job of kind merge follows.
	URL    string  `json:"url,omitempty"`
	Worker remains `json:"fleet_worker"`
}

// leftBehind reads a job's checkpoint. One that no worker wrote is the agent's own.
func leftBehind(raw json.RawMessage) remains {
	var c checkpoint
	if err := json.Unmarshal(raw, &c); err != nil || c.Worker.Factory == "" {
		if len(raw) == 0 || string(raw) == "null" {
			return remains{}
		}
		return remains{Agent: raw}
	}
	return c.Worker
}

// checkpointNow returns what the next attempt needs, as far as it is known.
func (a *attempt) checkpointNow() json.RawMessage {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := remains{Session: a.session, Factory: a.w.Factory, Agent: a.agent, PullRequest: a.pull.Number,
		Filed: a.w.inbox.filedBy(a.job.Key)}
	if a.engine != nil {
		r.Engine = a.engine.Name()
	}
	if a.tree != nil {
		r.Branch, r.Commit = a.tree.Branch, a.commit
	}
	raw, err := json.Marshal(checkpoint{URL: a.pull.URL, Worker: r})
	if err != nil {
		return nil // the agent's checkpoint was read as JSON
	}
	return raw
}

// attemptForJob names the attempt on a job among branches and files.
func attemptForJob(j api.Job, epoch int64) repos.Attempt {
	return repos.Attempt{Repo: j.Repo, Job: j.Key, ID: j.ID.String(), Epoch: epoch}
}

// attemptForReport names the attempt that a report is about.
func attemptForReport(r outbox.Report) repos.Attempt {
	return repos.Attempt{Repo: r.Repo, Job: r.Job, ID: r.ID, Epoch: r.Epoch}
}

// recordFile is in the scratch directory of each attempt from its beginning on: the job as
// it was claimed. Programs find it as FLEETBOARD_JOB_FILE.
const recordFile = "job.json"

// record is what recordFile holds. An order is no part of it: whoever could write to the file
// could give one.
type record struct {
	api.Job
	RequestID string `json:"request_id,omitempty"` // of the call that claimed it
}

// remember writes the job down, so that a worker that starts after a crash knows of it.
func (a *attempt) remember() error {
	r := record{Job: a.job, RequestID: a.request}
	r.Order = nil
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(filepath.Join(a.scratch, recordFile), raw)
}

// writeWhole writes a file so that a worker that is killed meanwhile leaves what was there before.
func writeWhole(path string, data []byte) error {
	half := path + ".half"
	if err := os.WriteFile(half, data, 0o600); err != nil {
		return err
	}
	return os.Rename(half, path)
}

// filedFile is in the scratch directory of an attempt that filed jobs: their keys, one a line.
const filedFile = "filed"

// writeFiled writes down which jobs were filed, for a worker that starts after a crash.
func writeFiled(scratch string, keys []string) error {
	return writeWhole(filepath.Join(scratch, filedFile), []byte(strings.Join(keys, "\n")))
}

// readFiled returns the jobs that earlier attempts filed, and this one before the worker was
// killed.
func readFiled(scratch string, j api.Job) []string {
	keys, _ := os.ReadFile(filepath.Join(scratch, filedFile)) // an attempt that filed none has no such file
	return append(strings.Fields(string(keys)), leftBehind(j.Checkpoint).Filed...)
}

// remembered returns the jobs of attempts that did not end. Directories without a job are
// removed: nothing had begun in them.
func remembered(state string) ([]record, error) {
	dir := filepath.Join(state, "attempts")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []record
	for _, e := range entries {
		var j record
		raw, err := os.ReadFile(filepath.Join(dir, e.Name(), recordFile))
		if err == nil {
			err = json.Unmarshal(raw, &j)
		}
		if err != nil || j.Lease == nil {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
			continue
		}
		j.Order = nil
		all = append(all, j)
	}
	return all, nil
}
