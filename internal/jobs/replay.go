package jobs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"fleetboard/internal/eventlog"
)

// State is what the events of a job tell of it.
type State struct {
	Status        Status
	WaitReason    WaitReason
	BlockedReason string
	Question      string
	Answer        string
	Title         string
	Phase         string
	Priority      int
	Factory       string
	Repo          string
	Product       string // by name
	Capabilities  []string
	Tags          []string
	FailureCount  int
	LostCount     int
	Feedback      string
	NotBefore     *time.Time // to the microsecond, as the database keeps it
	Epoch         int64
	Attempts      int
}

// State is the job as its events should tell it.
func (j Job) State() State {
	return State{
		Status: j.Status, WaitReason: j.WaitReason, BlockedReason: j.BlockedReason, Question: j.Question, Answer: j.Answer,
		Title: j.Title, Phase: j.Phase, Priority: j.Priority, Factory: j.Factory, Repo: j.Repo, Product: j.Product,
		Capabilities: j.Capabilities, Tags: j.Tags, FailureCount: j.FailureCount, LostCount: j.LostCount,
		Feedback: j.Feedback, NotBefore: j.NotBefore, Epoch: j.Epoch, Attempts: j.Attempts,
	}
}

// fields are the parts of a state that changes name, each where its value stands.
func (s *State) fields() map[string]any {
	return map[string]any{
		"status": &s.Status, "wait_reason": &s.WaitReason, "blocked_reason": &s.BlockedReason, "question": &s.Question,
		"answer": &s.Answer, "title": &s.Title, "phase": &s.Phase, "priority": &s.Priority, "factory": &s.Factory,
		"repo": &s.Repo, "product": &s.Product, "capabilities": &s.Capabilities, "tags": &s.Tags,
		"failure_count": &s.FailureCount, "lost_count": &s.LostCount, "feedback": &s.Feedback, "not_before": &s.NotBefore,
	}
}

// Replay gives the state that a job's events lead to, oldest first. Only their
// changes and epochs count, so that events of any type may be among them, also
// those that stand for several older ones (job.compacted). The epoch is the
// highest one named, and as many attempts were made.
//
// An error says which event cannot follow those before it: a status that
// changes from another one than it had, or a value of the wrong form.
func Replay(events []eventlog.Event) (State, error) {
	var s State
	for _, e := range events {
		if err := s.apply(e); err != nil {
			return State{}, fmt.Errorf("event %d (%s): %w", e.ID, e.Type, err)
		}
	}
	s.Attempts = int(s.Epoch)
	return s, nil
}

func (s *State) apply(e eventlog.Event) error {
	if e.Epoch != nil {
		s.Epoch = max(s.Epoch, *e.Epoch)
	}
	fields := s.fields()
	for _, c := range e.Changes {
		field, known := fields[c.Field]
		if !known {
			continue
		}
		if c.Field == "status" && c.Old != nil && text(c.Old) != text(s.Status) {
			return fmt.Errorf("the status was %s, it cannot change from %s", text(s.Status), text(c.Old))
		}
		if err := take(field, c.New); err != nil {
			return fmt.Errorf("%s: %w", c.Field, err)
		}
	}
	return nil
}

// take writes a change's value, as it was decided on or as the log keeps it, to a
// field.
func take(field, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	// What is null leaves a value as it is, and a list is written into.
	reflect.ValueOf(field).Elem().SetZero()
	if err := json.Unmarshal(raw, field); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// Diff names what differs, each as "field: the value here, the value there", in
// the order of the fields' names; nothing where the states are the same.
func (s State) Diff(other State) []string {
	here, there := s.normal().fields(), other.normal().fields()
	list := []string{}
	for name := range here {
		if a, b := text(here[name]), text(there[name]); a != b {
			list = append(list, fmt.Sprintf("%s: %s, %s", name, a, b))
		}
	}
	if s.Epoch != other.Epoch {
		list = append(list, fmt.Sprintf("epoch: %d, %d", s.Epoch, other.Epoch))
	}
	if s.Attempts != other.Attempts {
		list = append(list, fmt.Sprintf("attempts: %d, %d", s.Attempts, other.Attempts))
	}
	slices.Sort(list)
	return list
}

// normal is the state in the one form of each value: the empty list, and times as
// exact as the database keeps them.
func (s State) normal() *State {
	s.Capabilities, s.Tags = orEmpty(s.Capabilities), orEmpty(s.Tags)
	if s.NotBefore != nil {
		at := time.UnixMicro(s.NotBefore.UnixMicro()).UTC()
		s.NotBefore = &at
	}
	return &s
}

// text is a value as JSON.
func text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
