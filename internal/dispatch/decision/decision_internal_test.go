package decision

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/internal/dispatch/score"
)

// What is said of a decision fits into its column, whatever a factory lacks.
func TestWhyNamesAFewOfManyMissing(t *testing.T) {
	missing := make([]string, 40)
	for i := range missing {
		missing[i] = fmt.Sprintf("has:%s-%02d", strings.Repeat("x", 50), i)
	}
	d := score.Decision{Candidates: []score.Scored{{Factory: "mac-1", Missing: missing}}}
	class, why := classify(d, "mac-1", true)
	if class != Stale || !strings.Contains(why, missing[2]+" and 37 more") || len(why) > 1000 {
		t.Errorf("it is %s: %s", class, why)
	}
	d.Candidates[0].Missing = missing[:3]
	if _, why := classify(d, "mac-1", true); !strings.Contains(why, missing[2]+")") {
		t.Errorf("it says: %s", why)
	}
}
