package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

const (
	submitBatch  = 1000
	registerers  = 8
	seatsOfAgent = 100
	// bootID is the one that all agents of the bench register with.
	bootID = "boot-1"
)

// agent is a registered one with its connection.
type agent struct {
	*caller
	name  string
	taken []lease
}

// caller opens no connection before its first call. Callers go to one server after another.
func (w *web) caller(ctx context.Context, token string) *caller {
	at := w
	if n := int(w.called.Add(1)) % (len(w.beside) + 1); n > 0 {
		at = w.beside[n-1]
	}
	return &caller{ctx: ctx, address: strings.TrimPrefix(at.url, "http://"), token: token}
}

// first returns a caller with one of the tokens that the first start wrote down:
// owner-token or enrolment-token.
func (w *web) first(ctx context.Context, file string) (*caller, error) {
	text, err := os.ReadFile(filepath.Join(w.dir, filepath.Base(file)))
	return w.caller(ctx, strings.TrimSpace(string(text))), err
}

// submit creates n jobs that any agent may take.
func (w *web) submit(ctx context.Context, n int) error {
	owner, err := w.first(ctx, "owner-token")
	if err != nil {
		return err
	}
	defer owner.close()
	for made := 0; made < n; made += submitBatch {
		body := []byte(`{"jobs":[`)
		for i := range min(submitBatch, n-made) {
			if i > 0 {
				body = append(body, ',')
			}
			body = strconv.AppendInt(append(body, `{"title":"Job `...), int64(made+i), 10)
			body = append(append(append(body, `","phase":"`...), w.phase...), `"}`...)
		}
		if _, err := owner.must(http.MethodPost, "/api/v1/jobs/batch", append(body, `]}`...), http.StatusCreated); err != nil {
			return err
		}
	}
	return nil
}

// register registers n agents agent-0, agent-1, ... with a hundred jobs at once
// each, perFactory of them in a factory (at most 10, the seats of one end there).
// They are not dead before three days, also where they send no heartbeat.
func (w *web) register(ctx context.Context, n, perFactory int) ([]*agent, error) {
	all := make([]*agent, n)
	group, within := errgroup.WithContext(ctx)
	for part := range registerers {
		group.Go(func() error {
			enrol, err := w.first(within, "enrolment-token")
			if err != nil {
				return err
			}
			defer enrol.close()
			// A factory's agents come one after another.
			for f := part; f*perFactory < n; f += registerers {
				for i := f * perFactory; i < min(n, (f+1)*perFactory); i++ {
					token, err := registerOne(enrol, i, f, perFactory)
					if err != nil {
						return err
					}
					all[i] = &agent{name: agentName(i), caller: w.caller(ctx, token)}
				}
			}
			return nil
		})
	}
	return all, group.Wait()
}

func agentName(i int) string { return fmt.Sprint("agent-", i) }

func registerOne(enrol *caller, i, factory, perFactory int) (token string, err error) {
	var able []string
	for lane := range servedLanes {
		able = append(able, fmt.Sprintf(`"bench:%d"`, lane))
	}
	body := fmt.Sprintf(`{"boot_id":%q,"max_concurrent_jobs":%d,"stale_after_seconds":86400,`+
		`"capabilities":[%s],"factory":{"name":"factory-%d","seats":%d}}`,
		bootID, seatsOfAgent, strings.Join(able, ","), factory, seatsOfAgent*perFactory)
	got, err := enrol.must(http.MethodPut, "/api/v1/agents/"+agentName(i), []byte(body), http.StatusOK)
	if err != nil {
		return "", err
	}
	return readToken(got)
}

// readToken returns the token in the answer to a registration.
func readToken(got answer) (string, error) {
	var registered struct {
		Token string `json:"token"`
	}
	return registered.Token, json.Unmarshal(got.body, &registered)
}

// lease is what an agent has to name when it reports.
type lease struct {
	key   string
	epoch int64
}

var errStrangeClaim = errors.New("an answer to a claim is not as expected")

// leasesIn picks the leases out of an answer to a claim and leaves the rest of
// the jobs unread: the bench's jobs hold no text with these words in it.
func leasesIn(list []lease, body []byte) ([]lease, error) {
	for {
		_, after, ok := bytes.Cut(body, []byte(`"key":"`))
		if !ok {
			return list, nil
		}
		key, after, _ := bytes.Cut(after, []byte(`"`))
		_, after, ok = bytes.Cut(after, []byte(`"epoch":`))
		end := bytes.IndexAny(after, ",}")
		if !ok || end < 0 {
			return nil, errStrangeClaim
		}
		epoch, err := strconv.ParseInt(string(after[:end]), 10, 64)
		if err != nil {
			return nil, errors.Join(errStrangeClaim, err)
		}
		list, body = append(list, lease{string(key), epoch}), after[end:]
	}
}

// claim takes up to most jobs, none where there is none now.
func (a *agent) claim(list []lease, most int) ([]lease, error) {
	got, err := a.must(http.MethodPost, "/api/v1/fleet/claim", fmt.Appendf(nil, `{"max":%d}`, most), http.StatusOK, http.StatusNoContent)
	if err != nil {
		return nil, err
	}
	return leasesIn(list, got.body)
}

// complete completes one job.
func (a *agent) complete(l lease) error {
	_, err := a.must(http.MethodPost, "/api/v1/fleet/complete", l.append(nil, ""), http.StatusOK)
	return err
}

// completeForNext completes one job and takes what the answer has in its place.
func (a *agent) completeForNext(l lease) error {
	body := append(bytes.TrimSuffix(l.append(nil, ""), []byte("}")), `,"next":{}}`...)
	got, err := a.must(http.MethodPost, "/api/v1/fleet/complete", body, http.StatusOK)
	if err != nil {
		return err
	}
	_, next, _ := bytes.Cut(got.body, []byte(`"next":`))
	a.taken, err = leasesIn(a.taken[:0], next)
	return err
}

// append writes the JSON object that names the lease, for a verb where there is one.
func (l lease) append(to []byte, verb string) []byte {
	to = append(to, '{')
	if verb != "" {
		to = append(append(append(to, `"verb":"`...), verb...), `",`...)
	}
	to = append(append(append(to, `"job":"`...), l.key...), `","epoch":`...)
	return append(strconv.AppendInt(to, l.epoch, 10), '}')
}
