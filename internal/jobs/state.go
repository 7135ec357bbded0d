package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Saved are the fields of a job that a decision may change, as they are written to its row
// and recorded by its events.
type Saved struct {
	Status        Status     `json:"status"`
	WaitReason    WaitReason `json:"wait_reason"`
	BlockedReason string     `json:"blocked_reason"`
	Question      string     `json:"question"`
	Answer        string     `json:"answer"`
	Spec
	FilesTouched    []string        `json:"files_touched"`
	ApprovedHead    string          `json:"approved_head"`
	MergedCommit    string          `json:"merged_commit"`
	URL             string          `json:"url"`
	FailureKind     FailureKind     `json:"failure_kind"`
	FailureCount    int             `json:"failure_count"`
	LostCount       int             `json:"lost_count"`
	LastError       string          `json:"last_error"`
	Feedback        string          `json:"feedback"`
	ProgressPercent *int            `json:"progress_percent"`
	CurrentStep     string          `json:"current_step"`
	Checkpoint      json.RawMessage `json:"checkpoint"`
	Result          json.RawMessage `json:"result"`
}

// saved returns the fields that a decision about the job writes.
func (j Job) saved() Saved {
	s := Saved{
		Status: j.Status, WaitReason: j.WaitReason, BlockedReason: j.BlockedReason, Question: j.Question, Answer: j.Answer,
		Spec: j.Spec, FilesTouched: j.FilesTouched, ApprovedHead: j.ApprovedHead, MergedCommit: j.MergedCommit, URL: j.URL,
		FailureKind: j.FailureKind, FailureCount: j.FailureCount, LostCount: j.LostCount, LastError: j.LastError,
		Feedback: j.Feedback, ProgressPercent: j.ProgressPercent, CurrentStep: j.CurrentStep, Checkpoint: j.Checkpoint,
		Result: j.Result,
	}
	s.Capabilities, s.Tags, s.Files, s.FilesTouched = db.OrEmpty(s.Capabilities), db.OrEmpty(s.Tags),
		db.OrEmpty(s.Files), db.OrEmpty(s.FilesTouched)
	return s
}

// State is what the events of a job record of it: every stored field, by the name that
// its changes have. A field that is implied follows from who wrote the event, when,
// and from the status; no change names it unless events were folded.
type State struct {
	Saved
	Key                 string          `json:"key"`
	Kind                string          `json:"kind"`
	Product             string          `json:"product"`       // by name
	InputContext        json.RawMessage `json:"input_context"` // with redact.Placeholder for secrets
	SecretKeys          []string        `json:"secret_keys"`
	MaxLost             int             `json:"max_lost"`
	RetryBackoffSeconds int             `json:"retry_backoff_seconds"`
	IdempotencyKey      string          `json:"idempotency_key"`

	StatusBy     string          `json:"status_by" log:"implied"`
	StatusByKind tenancy.Kind    `json:"status_by_kind" log:"implied"`
	StatusByID   string          `json:"status_by_id" log:"implied"`
	CarriedOutBy json.RawMessage `json:"carried_out_by" log:"implied"` // an actor
	StatusAt     time.Time       `json:"status_at" log:"implied"`
	Version      int             `json:"version" log:"implied"`
	CreatedBy    string          `json:"created_by" log:"implied"`
	CreatedAt    time.Time       `json:"created_at" log:"implied"`
	UpdatedAt    time.Time       `json:"updated_at" log:"implied"`
	ReadyAt      *time.Time      `json:"ready_at" log:"implied"`
	AssignedAt   *time.Time      `json:"assigned_at" log:"implied"`
	StartedAt    *time.Time      `json:"started_at" log:"implied"`
	CompletedAt  *time.Time      `json:"completed_at" log:"implied"`
	FailedAt     *time.Time      `json:"failed_at" log:"implied"`
	Epoch        int64           `json:"epoch" log:"implied"`
	Attempts     int             `json:"attempts" log:"implied"`
	// Lane is what the job needs of whoever claims it, as its lane has it.
	Lane string `json:"lane" log:"implied"`

	long map[string]string // the SHA-256 of fields whose values are contents
}

// State returns the job as its events should record it.
func (j Job) State() State {
	s := State{
		Saved: j.saved(),
		Key:   j.Key, Kind: j.Kind, Product: j.Product, InputContext: j.InputContext, SecretKeys: j.SecretKeys,
		MaxLost: j.MaxLost, RetryBackoffSeconds: j.RetryBackoffSeconds, IdempotencyKey: j.IdempotencyKey,
		StatusBy: j.StatusBy.Name, StatusByKind: j.StatusBy.Kind, StatusByID: j.StatusBy.ID, StatusAt: j.StatusAt,
		Version: j.Version, CreatedBy: j.CreatedBy, CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt, ReadyAt: j.ReadyAt,
		AssignedAt: j.AssignedAt, StartedAt: j.StartedAt, CompletedAt: j.CompletedAt, FailedAt: j.FailedAt, Epoch: j.Epoch,
		Attempts: j.Attempts,
	}
	if j.CarriedOutBy != (tenancy.Actor{}) {
		s.CarriedOutBy = json.RawMessage(text(j.CarriedOutBy))
	}
	s.Lane = s.lane()
	return s
}

// UnmarshalJSON reads a state whose fields have the names that their changes have.
func (s *State) UnmarshalJSON(text []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return fmt.Errorf("decode state: %w", err)
	}
	for name, value := range values {
		if _, known := fieldAt[name]; known {
			if err := s.set(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// lane returns what a job of this state needs, in words.
func (s State) lane() string {
	n := Needs{Capabilities: s.Capabilities, Repo: s.Repo}
	return strings.TrimSpace(s.Product + "/" + s.Factory + " " + strings.Join(n.Tokens(), " "))
}

// field is a part of a State.
type field struct {
	name    string
	at      []int // as reflect.Value.FieldByIndex takes it
	implied bool
}

// fieldList are the parts of a State in their order, fieldAt is where each stands.
var fieldList, fieldAt = stateFields()

func stateFields() (list []field, at map[string][]int) {
	at = map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[State]()) {
		name, log := f.Tag.Get("json"), f.Tag.Get("log")
		if name == "-" {
			name = log
		}
		if name != "" && log != "-" {
			list, at[name] = append(list, field{name: name, at: f.Index, implied: log == "implied"}), f.Index
		}
	}
	return list, at
}

// value returns a part of a state in its one form: no list is nil, times are as exact as
// the database keeps them.
func (s *State) value(at []int) any {
	switch v := reflect.ValueOf(s).Elem().FieldByIndex(at).Interface().(type) {
	case []string:
		return db.OrEmpty(v)
	case []bool:
		return append([]bool{}, v...)
	case time.Time:
		return time.UnixMicro(v.UnixMicro()).UTC()
	case *time.Time:
		if v == nil {
			return nil
		}
		return time.UnixMicro(v.UnixMicro()).UTC()
	case json.RawMessage:
		if len(v) == 0 {
			return json.RawMessage("null")
		}
		return v
	default:
		return v
	}
}

// canonical is free JSON in the form in which equal values are equal.
func canonical(raw json.RawMessage) json.RawMessage {
	var value any
	if decode(raw, &value) != nil {
		return raw
	}
	text, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return text
}

// changes lists the fields that differ, for the event: whatever State holds, but for
// what is implied. Replay rebuilds a job's state from them.
func (d Decision) changes() []eventlog.Change {
	before, after := d.Before.State(), d.After.State()
	old, new := reflect.ValueOf(&before).Elem(), reflect.ValueOf(&after).Elem()
	var list []eventlog.Change
	for _, f := range fieldList {
		if f.implied || isEqual(old.FieldByIndex(f.at), new.FieldByIndex(f.at)) {
			continue
		}
		if was, is := before.value(f.at), after.value(f.at); !isSame(was, is) {
			list = append(list, eventlog.Change{Field: f.name, Old: was, New: is})
		}
	}
	return append(list, d.OtherChanges...)
}

// isEqual reports whether two values of a field are seen to be equal at a glance: most are,
// and to bring them into their one form costs more.
func isEqual(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Slice:
		return a.Len() == 0 && b.Len() == 0
	case reflect.Pointer, reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return a.Equal(b)
	default:
		return false
	}
}

// isSame reports whether two values in their one form are equal.
func isSame(a, b any) bool {
	if raw, ok := a.(json.RawMessage); ok {
		return bytes.Equal(raw, b.(json.RawMessage))
	}
	return reflect.DeepEqual(a, b)
}

// beginning lists the fields with which a job is made.
func (j Job) beginning() []eventlog.Change {
	list := Decision{After: j}.changes()
	for i := range list {
		list[i].Old = nil
	}
	return list
}
