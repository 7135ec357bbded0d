package api

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/fleetboard/fleetboard/handlers/api/stream"
	"github.com/fleetboard/fleetboard/internal/dispatch/lease"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/jobs/transcript"
	"github.com/fleetboard/fleetboard/internal/signal"
	"github.com/fleetboard/fleetboard/internal/spend"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// stepHandlers answer the calls that read transcripts.
type stepHandlers struct{ *Deps }

// WriteSteps adds steps to the transcript of an attempt.
func (s *reportHandlers) WriteSteps(ctx context.Context, r WriteStepsRequestObject) (WriteStepsResponseObject, error) {
	steps := make([]transcript.Step, 0, len(r.Body.Steps))
	for i, in := range r.Body.Steps {
		step := transcript.Step{N: in.N, At: time.Now().UTC(), Kind: transcript.Kind(in.Kind), Title: in.Title, Text: value(in.Text),
			Tool: value(in.Tool), Path: value(in.Path), Tokens: value(in.Tokens), Blob: value(in.Blob)}
		if in.At != nil {
			step.At = in.At.UTC()
		}
		if in.CostUSD != nil {
			cost, err := spend.ParseUSD(*in.CostUSD)
			if err != nil {
				at := fmt.Sprintf("steps[%d].cost_usd", i)
				return nil, fault.Invalid(at, "It must be an amount of dollars like 0.0123, at most 1,000.")
			}
			step.Cost = int64(cost)
		}
		steps = append(steps, step)
	}
	standing, err := s.Dispatch.WriteSteps(ctx, principal(ctx), lease.Ref{Job: r.Body.Job, Epoch: r.Body.Epoch}, steps)
	return WriteSteps200JSONResponse(toStanding(standing)), err
}

// ListSteps gives a page of the transcript of an attempt, oldest first.
func (s *stepHandlers) ListSteps(ctx context.Context, r ListStepsRequestObject) (ListStepsResponseObject, error) {
	page, err := s.Transcripts.Steps(ctx, principal(ctx), r.Job, r.Epoch,
		transcript.Filter{After: value(r.Params.After), Kinds: toKinds(r.Params.Kind), Limit: limit(r.Params.Limit)})
	return ListSteps200JSONResponse{Items: mapSlice(page.Steps, stepModel), NextAfter: page.Looked, More: page.More,
		Last: page.Head.Last, Steps: page.Head.Steps, LeftOut: page.Head.LeftOut, Tokens: page.Head.Tokens,
		CostUSD: spend.Nanos(page.Head.Cost).Fixed()}, err
}

func toKinds(in *[]StepKind) []transcript.Kind {
	return mapSlice(value(in), func(k StepKind) transcript.Kind { return transcript.Kind(k) })
}

func stepModel(s transcript.Step) Step {
	out := Step{N: s.N, At: s.At.UTC(), Kind: StepKind(s.Kind), Title: s.Title, Text: nilIfZero(s.Text), Tool: nilIfZero(s.Tool),
		Path: nilIfZero(s.Path), Tokens: nilIfZero(s.Tokens), Blob: nilIfZero(s.Blob)}
	if s.Cost > 0 {
		cost := spend.Nanos(s.Cost).Fixed()
		out.CostUSD = &cost
	}
	return out
}

// StreamSteps sends the transcript of an attempt as it grows.
func (s *stepHandlers) StreamSteps(ctx context.Context, r StreamStepsRequestObject) (StreamStepsResponseObject, error) {
	who := principal(ctx)
	f := transcript.Filter{After: value(r.Params.After), Kinds: toKinds(r.Params.Kind), Limit: transcript.MaxLimit}
	if last := value(r.Params.LastEventID); last != "" {
		n, err := strconv.ParseInt(last, 10, 64)
		if err != nil || n < 0 {
			return nil, fault.New(fault.Malformed, "Last-Event-ID must be the number of a step.")
		}
		f.After = n
	}
	job, err := s.Jobs.Get(ctx, who, r.Job)
	if err != nil {
		return nil, err
	}
	if _, err := s.Transcripts.Steps(ctx, who, job.ID.String(), r.Epoch, transcript.Filter{After: f.After, Limit: 1}); err != nil {
		return nil, err
	}
	place, err := openStream(ctx, s.Deps)
	if err != nil {
		return nil, err
	}
	return &stepStream{stepHandlers: s, ctx: ctx, stream: place, who: who, filter: f,
		of: transcript.Attempt{Workspace: who.Workspace, Job: job.ID, Epoch: r.Epoch}}, nil
}

// stepStream is one reader of a transcript.
type stepStream struct {
	*stepHandlers

	ctx    context.Context // of the call; it ends when the reader leaves
	stream *stream.Stream
	who    tenancy.Principal
	of     transcript.Attempt
	filter transcript.Filter
	behind bool // the page before was full: there is more to read at once
}

// VisitStreamStepsResponse sends until the reader, its token or the server ends. A reader that is cut off goes on
// from the last id it got.
func (t *stepStream) VisitStreamStepsResponse(w http.ResponseWriter) error {
	return t.stream.Serve(t.ctx, w, t.send)
}

func (t *stepStream) send(ctx context.Context, out *stream.Writer) error {
	news := signal.New()
	if t.Wake != nil {
		topic := transcript.Topic(t.of.Workspace, t.of.Job, t.of.Epoch)
		defer t.Wake.Subscribe(topic, func(string) { news.Set() })()
	}
	out.Place(strconv.FormatInt(t.filter.After, 10))
	err := out.Flush()
	beat := time.NewTicker(streams.Beat)
	defer beat.Stop()
	look := time.NewTimer(0)
	defer look.Stop()
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
			out.Beat()
			err = out.Flush()
		case <-news.C():
			look.Reset(streamGather)
		case <-look.C:
			var pause time.Duration
			pause, err = t.look(ctx, out)
			look.Reset(pause)
		}
	}
	return err
}

// look sends the next page and says when to look again.
func (t *stepStream) look(ctx context.Context, out *stream.Writer) (time.Duration, error) {
	page, err := t.page(ctx)
	if err != nil {
		return 0, err
	}
	for _, step := range page.Steps {
		if err := out.Event(strconv.FormatInt(step.N, 10), "step", stepModel(step)); err != nil {
			return 0, err
		}
	}
	t.filter.After, t.behind = page.Looked, page.More
	if t.behind {
		return 0, out.Flush()
	}
	return signal.Jitter(streamPoll, 0.2), out.Flush()
}

// page reads the next page. Who catches up takes a turn for each.
func (t *stepStream) page(ctx context.Context) (transcript.Page, error) {
	if t.behind {
		turn, err := t.Turns.Await(ctx, t.who)
		if err != nil {
			return transcript.Page{}, err
		}
		defer turn.End()
	}
	return t.Transcripts.ReadAttempt(ctx, t.of, t.filter)
}
