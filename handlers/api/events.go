package api

import (
	"context"

	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/ids"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// eventHandlers answer the calls about the log of events.
type eventHandlers struct{ *Deps }

// ListEvents reads the log from a place on, or back from it.
func (s *eventHandlers) ListEvents(ctx context.Context, r ListEventsRequestObject) (ListEventsResponseObject, error) {
	who := principal(ctx)
	after, err := eventlog.ParseCursor(value(r.Params.After))
	if err != nil {
		return nil, err
	}
	f, err := s.eventFilter(ctx, who, r.Params.Type, r.Params.Job, r.Params.Actor)
	if err != nil {
		return nil, err
	}
	f.Since = r.Params.Since
	if value(r.Params.Order) == Desc {
		found, next, err := s.Events.Older(ctx, who, f, after, limit(r.Params.Limit))
		page := ListEvents200JSONResponse{Items: mapSlice(found, func(e eventlog.Event) Event { return eventModel(e, e.JobKey) })}
		if next != (eventlog.Cursor{}) {
			page.NextAfter = next.String()
		}
		return page, err
	}
	found, next, err := s.Events.TailFiltered(ctx, who, f, after, limit(r.Params.Limit))
	return ListEvents200JSONResponse{NextAfter: next.String(),
		Items: mapSlice(found, func(e eventlog.Event) Event { return eventModel(e, e.JobKey) })}, err
}

// StreamEvents sends the log as it grows: from the place of the reader's last
// event, else from the one it names, else from now on.
func (s *eventHandlers) StreamEvents(ctx context.Context, r StreamEventsRequestObject) (StreamEventsResponseObject, error) {
	who := principal(ctx)
	f, err := s.eventFilter(ctx, who, r.Params.Type, r.Params.Job, r.Params.Actor)
	if err != nil {
		return nil, err
	}
	last := value(r.Params.LastEventID)
	if last == "" {
		last = value(r.Params.After)
	}
	at, err := eventlog.ParseCursor(last)
	if err == nil && last == "" {
		at, err = s.Events.Head(ctx, who)
	}
	if err != nil {
		return nil, err
	}
	place, err := openStream(ctx, s.Deps)
	if err != nil {
		return nil, err
	}
	return &eventStream{eventHandlers: s, ctx: ctx, stream: place, who: who, filter: f, at: at}, nil
}

func (s *eventHandlers) eventFilter(ctx context.Context, who tenancy.Principal, types *[]string, job, actor *string) (
	eventlog.Filter, error,
) {
	f := eventlog.Filter{Types: value(types), Actors: single(actor)}
	if err := eventlog.CheckTypes("type", f.Types); err != nil {
		return f, err
	}
	if name := value(job); name != "" {
		found, err := s.Jobs.Get(ctx, who, name)
		if err != nil {
			return f, err
		}
		f.Jobs = []ids.ID{found.ID}
	}
	return f, nil
}
