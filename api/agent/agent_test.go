package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetboard/fleetboard/api"
	"github.com/fleetboard/fleetboard/api/agent"
)

// server answers an agent's calls, in memory.
type server struct {
	mu        sync.Mutex
	jobs      []string // keys that are to be claimed
	away      bool
	directive api.Directive // of heartbeats and progress
	strange   string        // a lease of which the agent never learned
	refused   string        // a call whose body the server does not take
	calls     []string      // path and body, in the order in which they arrived
}

var ttl = 60

// RoundTrip returns the way to the server.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	var raw []byte
	if r.Body != nil {
		raw, _ = io.ReadAll(r.Body)
	}
	call := strings.TrimPrefix(r.URL.Path, "/api/v1/")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errors.New("no route")
	}
	if call != "fleet/claim" {
		s.calls = append(s.calls, call+" "+string(raw))
	}
	out := httptest.NewRecorder()
	out.Header().Set("Content-Type", "application/json")
	switch {
	case call == "fleet/claim" && len(s.jobs) == 0:
		s.mu.Unlock()
		select {
		case <-r.Context().Done():
		case <-time.After(5 * time.Second):
		}
		s.mu.Lock()
		out.WriteHeader(http.StatusNoContent)
	case call == "fleet/claim":
		fmt.Fprintf(out, `{"jobs": [{"key": %q, "lease": {"epoch": 3, "ttl_seconds": %d}}]}`, s.jobs[0], ttl)
		s.jobs = s.jobs[1:]
	case strings.HasSuffix(call, "/heartbeat"):
		var body api.Heartbeat
		_ = json.Unmarshal(raw, &body)
		now := time.Now()
		answer := api.HeartbeatAnswer{IntervalSeconds: 5, Now: now}
		ends := now.Add(time.Duration(ttl) * time.Second)
		for _, l := range *body.Leases {
			answer.Leases = append(answer.Leases, api.LeaseStanding{Job: l.Job, Epoch: l.Epoch, Directive: s.directive, ExpiresAt: &ends})
		}
		if s.strange != "" {
			answer.Leases = append(answer.Leases, api.LeaseStanding{Job: s.strange, Epoch: 1, Directive: api.DirectiveContinue})
		}
		_ = json.NewEncoder(out).Encode(answer)
	case call == s.refused:
		out.Header().Set("Content-Type", "application/problem+json")
		out.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(out, `{"code": "validation_failed", "status": 422, "title": "It is too long."}`)
	default:
		fmt.Fprintf(out, `{"token": "t", "directive": %q}`, s.directive)
	}
	return out.Result(), nil
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// called returns the bodies of the calls with a path.
func (s *server) called(path string) (bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if at, body, _ := strings.Cut(c, " "); at == path {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

// run runs an agent for a time.
func run(t *testing.T, s *server, lasts time.Duration, work agent.Work, change ...func(*agent.Options)) {
	t.Helper()
	o := agent.Options{Server: "http://fleetboard.test", Enrolment: "e", Name: "ada", Transport: s, Lease: time.Duration(ttl) * time.Second}
	for _, c := range change {
		c(&o)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	if err := agent.Run(ctx, o, work); err != nil {
		t.Errorf("Run returned %v", err)
	}
}

// How Work returns decides which report ends the attempt.
func TestTheEndOfAnAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		result agent.Result
		err    error
		call   string
		body   string
	}{
		"handed in":  {agent.Result{Summary: new("done")}, nil, "fleet/complete", `{"epoch":3,"job":"FB-1","summary":"done"}`},
		"an error":   {agent.Result{}, errors.New("no disk"), "fleet/fail", `{"epoch":3,"error":"no disk","job":"FB-1","retryable":true}`},
		"a failure":  {agent.Result{}, agent.Fail(api.Failure{Error: "no"}), "fleet/fail", `{"epoch":3,"error":"no","job":"FB-1"}`},
		"a question": {agent.Result{}, agent.Ask("Why?"), "fleet/ask", `{"epoch":3,"job":"FB-1","question":"Why?"}`},
		"wrapped":    {agent.Result{}, fmt.Errorf("in short: %w", agent.Ask("Why?")), "fleet/ask", `{"epoch":3,"job":"FB-1","question":"Why?"}`},
		"given back": {agent.Result{}, agent.Release(api.LeaseRelease{Reason: "busy"}), "fleet/release", `{"epoch":3,"job":"FB-1","reason":"busy"}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}
				run(t, s, time.Minute, func(context.Context, *agent.Job) (agent.Result, error) { return c.result, c.err })
				if got := s.called(c.call); !slices.Equal(got, []string{c.body}) {
					t.Errorf("%s got %q, want %s", c.call, got, c.body)
				}
				if len(s.called("agents/ada/end")) != 1 {
					t.Error("the agent does not say that it ends")
				}
			})
		})
	}
}

// A report that the server does not take for its form fails the attempt, once, and says so.
func TestAReportThatIsRefusedForItsFormFailsTheAttempt(t *testing.T) {
	for call, want := range map[string]int{"fleet/complete": 1, "fleet/fail": 2} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue, refused: call}
				run(t, s, time.Minute, func(context.Context, *agent.Job) (agent.Result, error) {
					if call == "fleet/fail" {
						return agent.Result{}, errors.New("no disk")
					}
					return agent.Result{Summary: new("done")}, nil
				})
				got := s.called("fleet/fail")
				if len(got) != want || !strings.Contains(got[want-1], "It is too long.") || !strings.Contains(got[want-1], `"retryable":false`) {
					t.Errorf("failed with %q", got)
				}
			})
		})
	}
}

// What an error says is cut and cleaned to what the server takes.
func TestAnErrorIsReportedAsTheServerTakesIt(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"long":    {strings.Repeat("é", api.MaxFailureError+1), strings.Repeat("é", api.MaxFailureError)},
		"binary":  {"a\x00b\xff", "a�b�"},
		"nothing": {"", "The work failed without a reason."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}
				run(t, s, time.Minute, func(context.Context, *agent.Job) (agent.Result, error) { return agent.Result{}, errors.New(c.text) })
				var f api.Failure
				if got := s.called("fleet/fail"); len(got) != 1 || json.Unmarshal([]byte(got[0]), &f) != nil || f.Error != c.want {
					t.Errorf("failed with %.100q", f.Error)
				}
			})
		})
	}
}

func TestAPanicFailsTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{jobs: []string{"FB-1", "FB-2"}, directive: api.DirectiveContinue}
		run(t, s, time.Minute, func(_ context.Context, j *agent.Job) (agent.Result, error) {
			if j.Key == "FB-1" {
				panic("a bug")
			}
			return agent.Result{}, nil
		})
		if got := s.called("fleet/fail"); len(got) != 1 || !strings.Contains(got[0], "panic: a bug") || len(s.called("fleet/complete")) != 1 {
			t.Errorf("failed with %q and completed %d jobs", got, len(s.called("fleet/complete")))
		}
	})
}

// What the server wants ends the work, and how it does is what the server receives.
func TestOrdersEndTheWork(t *testing.T) {
	for directive, want := range map[api.Directive]error{
		api.DirectivePause: agent.ErrPaused, api.DirectiveCancel: agent.ErrCancelled, api.DirectiveFenced: agent.ErrFenced,
	} {
		t.Run(string(directive), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}
				run(t, s, time.Minute, func(ctx context.Context, j *agent.Job) (agent.Result, error) {
					if err := j.Progress(api.ProgressReport{Checkpoint: api.FreeForm(`{"page": 4}`)}); err != nil {
						t.Errorf("Progress returned %v", err)
					}
					s.set(func() { s.directive = directive })
					<-ctx.Done()
					if got := context.Cause(ctx); !errors.Is(got, want) {
						t.Errorf("the cause is %v, want %v", got, want)
					}
					return agent.Result{}, ctx.Err()
				})
				released := s.called("fleet/release")
				if errors.Is(want, agent.ErrFenced) {
					if len(released)+len(s.called("fleet/fail")) > 0 {
						t.Error("something is reported of a lease that is somebody else's")
					}
				} else if len(released) != 1 || !strings.Contains(released[0], `"checkpoint":{"page":4}`) {
					t.Errorf("released with %q, want the checkpoint", released)
				}
			})
		})
	}
}

// The work goes on while the server is away, and stops before its lease may have ended.
func TestAServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}
		run(t, s, 5*time.Minute, func(ctx context.Context, _ *agent.Job) (agent.Result, error) {
			s.set(func() { s.away = true })
			time.AfterFunc(2*time.Minute, func() { s.set(func() { s.away = false }) })
			gone := time.Now()
			<-ctx.Done()
			if took := time.Since(gone); !errors.Is(context.Cause(ctx), agent.ErrUnheard) || took < 50*time.Second || took > time.Minute {
				t.Errorf("the work ended after %v with %v", took, context.Cause(ctx))
			}
			return agent.Result{}, ctx.Err()
		})
		if len(s.called("fleet/release")) > 0 || len(s.called("agents/ada/end")) != 1 {
			t.Error("a lease that may have ended is reported about, or the agent has not come back")
		}
	})
}

// The files that the work touches go with a heartbeat, once; those of one that failed go again.
func TestTouchedFilesGoWithAHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}
		run(t, s, time.Minute, func(_ context.Context, j *agent.Job) (agent.Result, error) {
			s.set(func() { s.away = true })
			j.Touched("go.mod", "internal/db/tx.go", "go.mod")
			<-time.After(8 * time.Second)
			s.set(func() { s.away = false })
			<-time.After(20 * time.Second)
			return agent.Result{}, nil
		})
		told := 0
		for _, body := range s.called("agents/ada/heartbeat") {
			if strings.Contains(body, "files_touched") {
				told++
				if !strings.Contains(body, `"files_touched":["go.mod","internal/db/tx.go"]`) {
					t.Errorf("a heartbeat says %s", body)
				}
			}
		}
		if told != 1 {
			t.Errorf("%d heartbeats tell of files; want 1", told)
		}
	})
}

// A report is sent until the server has taken it.
func TestAReportOutlastsTheServersAbsence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}
		run(t, s, 5*time.Minute, func(context.Context, *agent.Job) (agent.Result, error) {
			s.set(func() { s.away = true })
			time.AfterFunc(40*time.Second, func() { s.set(func() { s.away = false }) })
			return agent.Result{Summary: new("done")}, nil
		})
		if got := s.called("fleet/complete"); len(got) != 1 {
			t.Errorf("completed by %q", got)
		}
	})
}

// A lease whose claim was answered into a broken connection is given back.
func TestALeaseOfWhichNobodyKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{strange: "FB-9", jobs: []string{"FB-1"}, directive: api.DirectiveContinue}
		run(t, s, time.Minute, func(ctx context.Context, _ *agent.Job) (agent.Result, error) {
			<-ctx.Done()
			return agent.Result{}, nil
		})
		if got := s.called("fleet/release"); len(got) == 0 || !strings.Contains(got[0], `"job":"FB-9"`) {
			t.Errorf("given back: %q", got)
		}
	})
}

// memory is an outbox.
type memory struct {
	mu   sync.Mutex
	kept map[string]agent.Report
}

func key(r agent.Report) string { return fmt.Sprint(r.Complete.Job, r.Complete.Epoch) }

func (m *memory) Put(r agent.Report) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[key(r)] = r
	return nil
}

func (m *memory) Remove(r agent.Report) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, key(r))
	return nil
}

func (m *memory) Pending() (all []agent.Report, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.kept {
		all = append(all, r)
	}
	return all, nil
}

// What an agent could not report is reported by its next process, as the same boot.
func TestTheOutboxOutlastsTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}, &memory{kept: map[string]agent.Report{}}
		boxed := func(o *agent.Options) { o.Outbox = out }
		work := func(context.Context, *agent.Job) (agent.Result, error) {
			s.set(func() { s.away = true })
			return agent.Result{Summary: new("done")}, nil
		}
		run(t, s, time.Minute, work, boxed)
		if len(out.kept) != 1 || len(s.called("fleet/complete")) > 0 {
			t.Fatalf("%d reports are kept, and %q arrived", len(out.kept), s.called("fleet/complete"))
		}
		s.set(func() { s.away = false })
		run(t, s, time.Minute, work, boxed)
		if len(out.kept) > 0 || len(s.called("fleet/complete")) != 1 {
			t.Errorf("%d reports are kept, and %q arrived", len(out.kept), s.called("fleet/complete"))
		}
		if got := s.called("agents/ada"); len(got) != 2 || got[0] != got[1] {
			t.Errorf("the registrations are %q, want two of one boot", got)
		}
	})
}

// A report that says nothing, such as of a damaged file, keeps no agent from its work.
func TestAnEmptyReportInTheOutboxIsLeftThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, out := &server{jobs: []string{"FB-1"}, directive: api.DirectiveContinue}, &memory{kept: map[string]agent.Report{"damaged": {}}}
		run(t, s, time.Minute, func(context.Context, *agent.Job) (agent.Result, error) { return agent.Result{}, nil },
			func(o *agent.Options) { o.Outbox = out })
		if len(s.called("fleet/complete")) != 1 || len(out.kept) != 1 {
			t.Errorf("%d jobs were completed, and %d reports are kept", len(s.called("fleet/complete")), len(out.kept))
		}
	})
}

// An agent that may not claim any more ends with the refusal.
func TestAnAgentThatIsCutOffEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusing := transport(func(r *http.Request) (*http.Response, error) {
			out := httptest.NewRecorder()
			out.Header().Set("Content-Type", "application/problem+json")
			if strings.HasSuffix(r.URL.Path, "/claim") {
				out.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(out, `{"status": 401, "code": "token_revoked", "title": "Revoked"}`)
			} else {
				out.Header().Set("Content-Type", "application/json")
				fmt.Fprint(out, `{"token": "t"}`)
			}
			return out.Result(), nil
		})
		err := agent.Run(t.Context(), agent.Options{Server: "http://fleetboard.test", Name: "ada", Transport: refusing}, nil)
		if !api.Refused(err, api.ProblemCodeTokenRevoked) {
			t.Errorf("Run returned %v", err)
		}
	})
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
