package cli

import (
	"fmt"
	"time"
)

// ago says when something was or will be, as people do.
func (s *screen) ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	since := s.env.Now().Sub(at)
	if since < 0 {
		if -since < time.Second {
			return "now"
		}
		return "in " + span(-since)
	}
	if since < 5*time.Second {
		return "just now"
	}
	if since > 60*24*time.Hour {
		return at.Local().Format("2 Jan 2006")
	}
	return span(since) + " ago"
}

// agoOrEmpty is ago of a time that may be missing.
func (s *screen) agoOrEmpty(at *time.Time) string {
	if at == nil {
		return ""
	}
	return s.ago(*at)
}

// span says how long something is, in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}
