package factory

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fleetboard/fleetboard/api"
)

// raw returns a script as a job's input.
func raw(t *testing.T, steps ...step) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(map[string]any{"script": map[string]any{"steps": steps}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func tool(name string, arguments step) step {
	return step{"tool": step{"name": name, "arguments": arguments}}
}

// filedBy waits until an agent has filed a job, and has it play steps.
func (s *serverAndRepos) filedBy(agent string, steps ...step) (key string) {
	s.t.Helper()
	s.until(agent+" files a job", func() bool {
		answer, err := s.person.ListJobsWithResponse(s.t.Context(), &api.ListJobsParams{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, j := range answer.JSON200.Items {
			if j.CreatedBy == agent {
				key = j.Key
			}
		}
		return key != ""
	})
	s.query("UPDATE job_text SET input_context = $1 WHERE job_id = (SELECT id FROM job WHERE key = $2) RETURNING 1", string(raw(s.t, steps...)), key) // no agent files a script
	return key
}

// thread is who said what in a thread, the oldest first, without what the server says of
// claims and steps in between: it may say it later.
func (s *serverAndRepos) thread(name string) (said []string) {
	s.t.Helper()
	answer, err := s.person.ReadThreadWithResponse(context.Background(), name, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range answer.JSON200.Items {
		if m.Type != "state_change" && m.Type != "task_claim" {
			said = append(said, m.From.Name+" "+m.Type)
		}
	}
	return said
}

// query queries the database for a number.
func (s *serverAndRepos) query(sql string, args ...any) (n int) {
	s.t.Helper()
	conn, err := pgx.Connect(context.Background(), s.database)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// unacknowledged returns how many messages lie in the inboxes of agents. Those of roles get the
// end of each job as well, of the last one when no attempt is there to read it.
func (s *serverAndRepos) unacknowledged() int {
	s.t.Helper()
	return s.query("SELECT count(*) FROM message_delivery WHERE inbox NOT LIKE 'role:%'")
}

// An agent files a job and gets messages about it; the one that does it asks, is answered, and goes
// on in the same turn; the first one joins what came out.
func TestAgentsTalkThroughTheirWorkers(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("ada", "--role", "orchestrator")
	first := s.submit(
		tool("file_job", step{"title": "Do one half"}),
		step{"await": "custom.question"},
		tool("send_message", step{"to": "{from}", "thread": "{thread}", "text": "Take the second."}),
		step{"await": "task_done"},
		step{"run": "echo joined > joined.txt"},
	)
	second := s.filedBy("ada",
		tool("send_message", step{"to": "agent:ada", "type": "custom.question", "text": "Which parser?"}),
		step{"await": "custom.note"},
		step{"run": "echo half > half.txt"},
	)
	s.worker("bob")
	s.untilStatus(second, api.JobStatusCompleted)
	s.untilStatus(first, api.JobStatusCompleted)
	if said, want := s.thread(second), []string{"bob custom.question", "ada custom.note", "fleetboard task_done"}; !slices.Equal(
		said, want) {
		t.Errorf("the thread says %q; want %q", said, want)
	}
	logs, err := s.person.ListJobLogsWithResponse(t.Context(), second, nil)
	if err != nil || !strings.Contains(string(logs.Body), "Take the second.") {
		t.Errorf("the log is %s, %v", logs.Body, err)
	}
	s.until("all is acknowledged", func() bool { return s.unacknowledged() == 0 })
}

// What an agent asks of the people while another agent waits for it is answered by that
// one, and nobody else has to.
func TestAnAgentAnswersTheJobThatItFiled(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	s.worker("ada")
	first := s.submit(
		tool("file_job", step{"title": "Do one half"}),
		step{"await": "task_blocked"},
		tool("answer_question", step{"job": "{filed}", "answer": "Yes."}),
		step{"await": "task_done"},
	)
	second := s.filedBy("ada", step{"ask": "May I?"}, step{"run": "echo half > half.txt"})
	s.worker("bob")
	s.untilStatus(second, api.JobStatusCompleted)
	if n := s.query("SELECT count(*) FROM event WHERE type = 'job.answered' AND actor = 'ada'"); n != 1 {
		t.Errorf("ada answered it %d times", n)
	}
	s.untilStatus(first, api.JobStatusCompleted)
	s.until("all is acknowledged", func() bool { return s.unacknowledged() == 0 })
}

// What comes while an engine works, and is not read, brings it another turn before its work
// is handed in. What is about another job of the worker waits for that one.
func TestMessagesBringAnotherTurn(t *testing.T) {
	t.Parallel()
	s := newServerAndRepos(t)
	w := s.worker("ada")
	flag := filepath.Join(s.dir, "go")
	key := s.submit(step{"run": "echo one > one.txt; touch " + filepath.Join(s.dir, "begun") + "; until test -e " + flag + "; do sleep 0.1; done"})
	s.untilFile("begun")
	for i, text := range []string{"Mind the gap.", "And the doors."} {
		said, err := json.Marshal(map[string]string{"text": text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.person.SendMessageWithResponse(t.Context(), api.NewMessage{Type: fmt.Sprintf("custom.note-%d", i),
			To: api.NewMessageAddress{Agent: new("ada")}, Job: &key, Payload: said}); err != nil {
			t.Fatal(err)
		}
	}
	s.until("the worker has read them", func() bool {
		return s.query("SELECT count(*) FROM message_delivery WHERE deliveries = 1") == 2
	})
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.untilStatus(key, api.JobStatusCompleted)
	logs, err := s.person.ListJobLogsWithResponse(t.Context(), key, nil)
	if body := string(logs.Body); err != nil || strings.Count(body, "Mind the gap.") != 1 || !strings.Contains(body, "And the doors.") {
		t.Errorf("the log is %s, %v", logs.Body, err)
	}
	s.until("all is acknowledged", func() bool { return s.unacknowledged() == 0 })
	if strings.Contains(w.Output(), "messages cannot be read") {
		t.Errorf("the worker says %s", w.Output())
	}
}
