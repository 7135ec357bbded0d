package report

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/batch"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// Said is a heartbeat or a report, and who it is from.
type Said struct {
	Who    tenancy.Principal
	Beat   Heartbeat
	Ref    lease.Ref
	Report Report
}

// Report is what Start, Progress and Renew say.
type Report struct {
	Progress
	Starts, IsProgress bool
	TTL                *int
}

// Heard is the answer to one of them.
type Heard struct {
	Beat   HeartbeatResult
	Status lease.Status
	Err    error
	Alone  bool // it was run alone
}

func (s Said) beat() beatCall { return beatCall{s.Who, s.Beat} }

func (s Said) report() reportCall {
	return reportCall{s.Who, s.Ref, report{Progress: s.Report.Progress, starts: s.Report.Starts,
		isProgress: s.Report.IsProgress, ttl: s.Report.TTL}}
}

// BeatsAlone answers heartbeats one after another.
func (s *Service) BeatsAlone(ctx context.Context, list []Said) []Heard {
	var all []Heard
	for _, one := range list {
		answer, err := s.beats.Alone(ctx, one.Who.Workspace, one.beat())
		all = append(all, Heard{Beat: answer, Err: err, Alone: true})
	}
	return all
}

// ReportsAlone answers reports one after another.
func (s *Service) ReportsAlone(ctx context.Context, list []Said) []Heard {
	var all []Heard
	for _, one := range list {
		status, err := s.reports.Alone(ctx, one.Who.Workspace, one.report())
		all = append(all, Heard{Status: status, Err: err, Alone: true})
	}
	return all
}

// BeatsTogether answers heartbeats in one batch, and alone what is to be retried.
func (s *Service) BeatsTogether(ctx context.Context, workspace ids.ID, list []Said) []Heard {
	all := make([]Heard, len(list))
	for i, one := range s.flushBeats(ctx, workspace, list) {
		all[i] = heard(one)
	}
	return all
}

// ReportsTogether answers reports in one batch, and alone what is to be retried.
func (s *Service) ReportsTogether(ctx context.Context, workspace ids.ID, list []Said) []Heard {
	items := make([]*batch.Item[reportCall, lease.Status], len(list))
	for i, one := range list {
		items[i] = batch.NewItem[reportCall, lease.Status](ctx, one.report())
	}
	s.reports.Flush(workspace, items)
	all := make([]Heard, len(list))
	for i, one := range items {
		all[i].Status, all[i].Err = one.Wait()
		all[i].Alone = one.Alone
	}
	return all
}

// AnswerBeats answers heartbeats as though they had all waited for the same batch, and
// reports each by its place when it is answered.
func (s *Service) AnswerBeats(ctx context.Context, workspace ids.ID, list []Said, tell func(int, Heard)) {
	for i, one := range s.flushBeats(ctx, workspace, list) {
		go func() { tell(i, heard(one)) }()
	}
}

func (s *Service) flushBeats(ctx context.Context, workspace ids.ID, list []Said) []*batch.Item[beatCall, HeartbeatResult] {
	items := make([]*batch.Item[beatCall, HeartbeatResult], len(list))
	for i, one := range list {
		items[i] = batch.NewItem[beatCall, HeartbeatResult](ctx, one.beat())
	}
	s.beats.Flush(workspace, items)
	return items
}

// heard waits for the answer to a heartbeat.
func heard(one *batch.Item[beatCall, HeartbeatResult]) (h Heard) {
	h.Beat, h.Err = one.Wait()
	h.Alone = one.Alone
	return h
}
