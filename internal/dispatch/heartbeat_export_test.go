package dispatch

import (
	"context"

	"fleetboard/internal/ids"
	"fleetboard/internal/tenancy"
)

// Said is a heartbeat or a report, and who it is from.
type Said struct {
	Who    tenancy.Principal
	Beat   Beat
	Ref    Ref
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
	Beat     BeatAnswer
	Standing Standing
	Err      error
	Apart    bool // it was set apart, and then answered alone
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
		answer, err := s.beatAlone(ctx, one.beat())
		all = append(all, Heard{Beat: answer, Err: err})
	}
	return all
}

// ReportsAlone answers reports one after another.
func (s *Service) ReportsAlone(ctx context.Context, list []Said) []Heard {
	var all []Heard
	for _, one := range list {
		standing, err := s.reportAlone(ctx, one.report())
		all = append(all, Heard{Standing: standing, Err: err})
	}
	return all
}

// BeatsTogether answers heartbeats in one run, and then alone what is set apart.
func (s *Service) BeatsTogether(ctx context.Context, workspace ids.ID, list []Said) []Heard {
	return answered(ctx, s.beats, workspace, list, Said.beat, func(h *Heard, a BeatAnswer) { h.Beat = a })
}

// ReportsTogether answers reports in one run, and then alone what is set apart.
func (s *Service) ReportsTogether(ctx context.Context, workspace ids.ID, list []Said) []Heard {
	return answered(ctx, s.reports, workspace, list, Said.report, func(h *Heard, a Standing) { h.Standing = a })
}

// BeatsOnce answers heartbeats in one run, and leaves what is set apart.
func (s *Service) BeatsOnce(ctx context.Context, workspace ids.ID, list []Said) ([]Heard, error) {
	requests := make([]*request[beatCall, BeatAnswer], len(list))
	for i, one := range list {
		requests[i] = &request[beatCall, BeatAnswer]{ctx: ctx, in: one.beat()}
	}
	err := s.beats.run(ctx, workspace, requests, false)
	all := make([]Heard, len(list))
	for i, r := range requests {
		all[i] = Heard{Beat: r.out, Err: r.err, Apart: r.apart}
	}
	return all, err
}

func answered[In, Out any](ctx context.Context, c *combiner[In, Out], workspace ids.ID, list []Said, in func(Said) In, out func(*Heard, Out)) []Heard {
	requests := make([]*request[In, Out], len(list))
	for i, one := range list {
		requests[i] = &request[In, Out]{ctx: ctx, in: in(one), done: make(chan struct{})}
	}
	all := make([]Heard, len(list))
	err := c.run(ctx, workspace, requests, false)
	for i, r := range requests {
		if all[i].Apart = err != nil || r.apart; all[i].Apart {
			c.alone(workspace, r)
		}
		all[i].Err = r.err
		out(&all[i], r.out)
	}
	return all
}

// AnswerBeats lets the combiner answer heartbeats as though they had all waited
// for the same run, and tells of each by its place when it is answered.
func (s *Service) AnswerBeats(ctx context.Context, workspace ids.ID, list []Said, tell func(int, Heard)) {
	requests := make([]*request[beatCall, BeatAnswer], len(list))
	for i, one := range list {
		requests[i] = &request[beatCall, BeatAnswer]{ctx: ctx, in: one.beat(), done: make(chan struct{})}
	}
	s.beats.answer(workspace, requests)
	for i, r := range requests {
		go func() {
			<-r.done
			tell(i, Heard{Beat: r.out, Err: r.err, Apart: r.apart})
		}()
	}
}
