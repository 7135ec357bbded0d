package web

import (
	"fmt"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// TryAgainText returns the sentence that says how long to wait.
func TryAgainText(f *fault.Error) string {
	wait := WaitText(RetryAfter(f))
	if f.Code == fault.Unavailable {
		return "Very many people log in at this moment. Try again in " + wait + "."
	}
	return "Too many attempts. Try again in " + wait + "."
}

// UnknownTime is RetryAfter where a refusal does not say how long.
const UnknownTime = 5

// RetryAfter returns how long to wait after a refusal, in seconds.
func RetryAfter(f *fault.Error) int {
	if n, ok := f.Details["retry_after"].(int); ok && n > 0 {
		return n
	}
	return UnknownTime
}

// MustWait reports whether a refusal says how long to wait.
func MustWait(f *fault.Error) bool {
	_, ok := f.Details["retry_after"]
	return ok && (f.Code == fault.TooMany || f.Code == fault.Unavailable)
}

// WaitText returns a time to wait in words.
func WaitText(seconds int) string {
	switch {
	case seconds == 1:
		return "a second"
	case seconds < 100:
		return fmt.Sprintf("%d seconds", seconds)
	default:
		return fmt.Sprintf("%d minutes", (seconds+59)/60)
	}
}
