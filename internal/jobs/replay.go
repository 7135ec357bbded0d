package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// Replay gives the state that a job's events lead to, oldest first. Their changes
// count, and what follows from an event that was written along with the job's row:
// so events of any type may be among them, also those that stand for several older
// ones (job.compacted). The epoch is the highest one named, and as many attempts
// were made. Values that are contents are still to be filled in: see Contents.
//
// An error says which event cannot follow those before it: a status that
// changes from another one than it had, or a value of the wrong form.
func Replay(events []eventlog.Event) (State, error) {
	s := State{long: map[string]string{}}
	for _, e := range events {
		if err := s.apply(e); err != nil {
			return State{}, fmt.Errorf("event %d (%s): %w", e.ID, e.Type, err)
		}
	}
	s.Attempts = int(s.Epoch)
	s.Lane = s.lane()
	return s, nil
}

// Contents returns the SHA-256 of the contents that the state is still without.
func (s State) Contents() []string {
	return slices.Compact(slices.Sorted(maps.Values(s.long)))
}

// Fill puts contents, by their SHA-256, into the state. An error names a field whose
// content is not there or is not what its SHA-256 says.
func (s State) Fill(contents map[string]json.RawMessage) (State, error) {
	for _, name := range slices.Sorted(maps.Keys(s.long)) {
		body, ok := contents[s.long[name]]
		if !ok {
			return s, fmt.Errorf("%s: the content %s is not there or was changed", name, s.long[name])
		}
		if err := s.set(name, body); err != nil {
			return s, err
		}
	}
	s.long = nil
	s.Lane = s.lane()
	return s, nil
}

func (s *State) apply(e eventlog.Event) error {
	if e.Type == eventlog.JobPurged {
		*s = State{long: map[string]string{}}
		return nil
	}
	if e.Epoch != nil {
		s.Epoch = max(s.Epoch, *e.Epoch)
	}
	if e.SavedAt != nil {
		s.imply(e)
	}
	for _, c := range e.Changes {
		if _, known := fieldAt[c.Field]; !known || isLength(c) {
			continue
		}
		if c.Field == "status" && c.Old != nil && text(c.Old) != text(s.Status) {
			return fmt.Errorf("the status was %s, it cannot change from %s", text(s.Status), text(c.Old))
		}
		if err := s.take(c); err != nil {
			return err
		}
	}
	return nil
}

// imply takes what follows from an event that was written along with the job's row.
// The migration 00039 knows the same rules.
func (s *State) imply(e eventlog.Event) {
	at := *e.SavedAt
	s.Version++
	s.UpdatedAt = at
	if e.Type == eventlog.JobCreated {
		s.CreatedAt, s.CreatedBy = at, e.Actor.Name
	}
	i := slices.IndexFunc(e.Changes, func(c eventlog.Change) bool { return c.Field == "status" })
	if i < 0 {
		return
	}
	var status Status
	if setValue(reflect.ValueOf(&status).Elem(), e.Changes[i].New) != nil || status == s.Status {
		return
	}
	s.StatusAt, s.ReadyAt = at, nil
	s.StatusBy, s.StatusByKind, s.StatusByID = e.Actor.Name, e.Actor.Kind, e.Actor.ID
	s.CarriedOutBy = carriedOutBy(e)
	switch status {
	case Ready:
		s.ReadyAt = &at
	case Assigned:
		s.AssignedAt, s.StartedAt = &at, nil
		s.ProgressPercent, s.CurrentStep = nil, ""
		delete(s.long, "current_step")
	case Running:
		s.StartedAt = &at
	case Completed:
		if s.CompletedAt == nil { // else it comes back from the archive
			s.CompletedAt = &at
		}
		s.FailedAt = nil
		return
	case Failed, Aborted:
		s.CompletedAt = nil
		if s.FailedAt == nil {
			s.FailedAt = &at
		}
		return
	case Archived:
		return
	}
	s.CompletedAt, s.FailedAt = nil, nil
}

// carriedOutBy returns the actor that carried a decision out, nil where it was the one
// who decided.
func carriedOutBy(e eventlog.Event) json.RawMessage {
	var payload struct {
		CarriedOutBy json.RawMessage `json:"carried_out_by"`
	}
	// A payload of another form names nobody.
	_ = json.Unmarshal(e.Payload, &payload)
	return payload.CarriedOutBy
}

// isLength reports whether an event of an earlier version says how long a text is
// instead of the text.
func isLength(c eventlog.Change) bool {
	if c.Field != "body" && c.Field != "checkpoint" {
		return false
	}
	switch v := c.New.(type) {
	case float64, json.Number, int:
		return true
	case json.RawMessage:
		return len(v) > 0 && (v[0] == '-' || '0' <= v[0] && v[0] <= '9')
	default:
		return false
	}
}

// take writes a change's value, or notes which content it is.
func (s *State) take(c eventlog.Change) error {
	if c.NewSHA256 != "" {
		s.long[c.Field] = c.NewSHA256
		return nil
	}
	delete(s.long, c.Field)
	return s.set(c.Field, c.New)
}

func (s *State) set(name string, value any) error {
	if err := setValue(reflect.ValueOf(s).Elem().FieldByIndex(fieldAt[name]), value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// setValue writes a value, as it was decided on or as the log keeps it, to a field.
func setValue(field reflect.Value, value any) error {
	raw, encoded := value.(json.RawMessage)
	if !encoded {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return fmt.Errorf("encode: %w", err)
		}
	}
	// What is null leaves a value as it is, and a list is written into.
	field.SetZero()
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, field.Addr().Interface()); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// decode is json.Unmarshal that keeps numbers as they are written.
func decode(raw []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(value); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return nil
}

// Differing is a field that differs between two states, as JSON.
type Differing struct {
	Field       string
	Here, There string
}

// String shortens long values.
func (d Differing) String() string {
	return fmt.Sprintf("%s: %s, %s", d.Field, brief(d.Here), brief(d.There))
}

// maxBrief is how many bytes of a value a difference shows.
const maxBrief = 80

func brief(s string) string {
	if len(s) <= maxBrief {
		return s
	}
	return fmt.Sprintf("%s… (%d characters)", cut(s, maxBrief), utf8.RuneCountInString(s))
}

// Differences returns the fields in which states differ, in the order of their names.
func (s State) Differences(other State) []Differing {
	list := []Differing{}
	for _, f := range fieldList {
		a, b := s.value(f.at), other.value(f.at)
		if f.name == "acceptance_met" {
			a, b = checkmarks(s.AcceptanceMet, len(s.Acceptance)), checkmarks(other.AcceptanceMet, len(other.Acceptance))
		}
		if reflect.DeepEqual(a, b) {
			continue // as nearly all are: only what differs is written out
		}
		if here, there := text(a), text(b); here != there {
			list = append(list, Differing{f.name, here, there})
		}
	}
	slices.SortFunc(list, func(a, b Differing) int { return bytes.Compare([]byte(a.Field), []byte(b.Field)) })
	return list
}

// Diff names what differs, each as "field: the value here, the value there", in
// the order of the fields' names; nothing where the states are the same.
func (s State) Diff(other State) []string {
	list := []string{}
	for _, d := range s.Differences(other) {
		list = append(list, d.String())
	}
	return list
}

// text returns a value as JSON; free JSON in its one form.
func text(value any) string {
	if free, ok := value.(json.RawMessage); ok {
		value = canonical(free)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// RepairTx makes the row of a locked job what its log says, and records in the log
// which values were found instead. InvalidTransition where the job has, by its log,
// a lease that is not there, or has a lease that the log does not record; NotFound
// where its product is gone.
func RepairTx(ctx context.Context, tx db.Tx, workspace, id ids.ID, leaseEpoch int64, told State, found []Differing) error {
	if told.Status.Leased() != (leaseEpoch != 0) || leaseEpoch != 0 && leaseEpoch != told.Epoch {
		return fault.New(fault.InvalidTransition, "By its log %s is %s in epoch %d; its lease does not agree. A lease cannot be repaired.",
			told.Key, told.Status, told.Epoch)
	}
	products, err := productsTx(ctx, tx, workspace)
	if err != nil {
		return err
	}
	of := slices.IndexFunc(products, func(p Product) bool { return p.Name == told.Product })
	if of < 0 {
		return fault.New(fault.NotFound, "By its log %s belongs to the product %s, which is not there.", told.Key, told.Product)
	}
	lane, err := ensureLaneTx(ctx, tx, workspace, Needs{
		Product: products[of].ID, Capabilities: db.OrEmpty(told.Capabilities), Repo: told.Repo, Factory: told.Factory})
	if err != nil {
		return err
	}
	row, values := map[string]any{}, map[string]json.RawMessage{}
	for _, f := range fieldList {
		row[f.name] = told.value(f.at)
	}
	for _, d := range found {
		values[d.Field] = json.RawMessage(d.Here)
	}
	return repairTx(ctx, tx, workspace, id, products[of].ID, lane, row, values)
}

// FieldValue is a field of a state by its name, as JSON.
type FieldValue struct{ Name, Value string }

// Fields returns all fields of a state, in the order in which people read them.
func (s State) Fields() []FieldValue {
	list := make([]FieldValue, 0, len(fieldList))
	for _, f := range fieldList {
		list = append(list, FieldValue{f.name, text(s.value(f.at))})
	}
	return list
}
