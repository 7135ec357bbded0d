package links

import "net/url"

// Timeline is the page of the event log.
const Timeline = "/timeline"

// TimelineFilter is what the timeline shows. The zero value shows all.
type TimelineFilter struct {
	Groups []string // of types: "jobs", "review"; none is all
	Jobs   []string // keys
	Actors []string // names or ids
	// Progress shows also what attempts report on their way; ByJob puts events under their jobs.
	Progress, ByJob bool
}

func (f TimelineFilter) values() url.Values {
	v := url.Values{}
	setAll(v, "group", f.Groups)
	setAll(v, "job", f.Jobs)
	setAll(v, "actor", f.Actors)
	if f.Progress {
		v.Set("progress", "1")
	}
	if f.ByJob {
		v.Set("by", "job")
	}
	return v
}

// IsZero reports whether the filter is off.
func (f TimelineFilter) IsZero() bool { return len(f.values()) == 0 }

// TimelineWith returns the timeline with a filter.
func TimelineWith(f TimelineFilter) string { return with(Timeline, f.values()) }

// TimelineBefore returns the part of the timeline before a place in the log.
func TimelineBefore(before string, f TimelineFilter) string {
	v := f.values()
	v.Set("before", before)
	return with(Timeline, v)
}

// LiveTimeline returns the stream of the timeline: it counts what is new after a
// place in the log.
func LiveTimeline(after string, f TimelineFilter) string {
	v := f.values()
	v.Set("on", "timeline")
	return live(after, v)
}
