package attempts_test

import (
	"fmt"
	"testing"

	"github.com/fleetboard/fleetboard/internal/jobs/attempts"
)

// Of one commit nothing follows that is less final, and nothing happens twice; another commit
// begins anew.
func TestWhatIsToldOfACommitFollowsOneTable(t *testing.T) {
	const kept, taken = false, true
	states := []attempts.DeliveryState{attempts.Local, attempts.Refused, attempts.Pushed}
	for known, row := range map[attempts.DeliveryState][3]bool{ // what is reported: local, refused, pushed
		attempts.Untold:  {taken, taken, taken},
		attempts.Awaited: {taken, taken, taken},
		attempts.Local:   {kept, taken, taken},
		attempts.Refused: {kept, kept, taken},
		attempts.Pushed:  {kept, kept, kept},
	} {
		for i, state := range states {
			t.Run(fmt.Sprintf("%s then %s", known, state), func(t *testing.T) {
				before, told := attempts.Delivery{State: known}, attempts.Delivery{State: state, Commit: "abc", Branch: "b"}
				if before.IsTold() {
					before.Commit = "abc"
				}
				want := before
				if row[i] {
					want = told
				}
				if now, changed := before.After(told); changed != row[i] || now != want {
					t.Errorf("it becomes %+v, %v", now, changed)
				}
				told.Commit = "def"
				if now, changed := before.After(told); !changed || now != told {
					t.Errorf("with another commit it becomes %+v, %v", now, changed)
				}
			})
		}
	}
}

// The words of a refusal are those of the last one.
func TestARefusalIsToldInItsNewestWords(t *testing.T) {
	told := attempts.Delivery{State: attempts.Refused, Commit: "abc", Detail: "no ticket"}
	if _, changed := told.After(told); changed {
		t.Error("the same words are news")
	}
	newer := told
	newer.Detail = "no signature"
	if now, changed := told.After(newer); !changed || now.Detail != "no signature" {
		t.Errorf("it says %q, %v", now.Detail, changed)
	}
}

func TestACommitThatIsNotThereIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		told attempts.Delivery
		want bool
	}{
		"an agent that tells nothing": {attempts.Delivery{}, false},
		"one that will tell":          {attempts.Delivery{State: attempts.Awaited}, true},
		"refused":                     {attempts.Delivery{State: attempts.Refused, Commit: "abc"}, true},
		"another one was refused":     {attempts.Delivery{State: attempts.Refused, Commit: "def"}, false},
		"pushed":                      {attempts.Delivery{State: attempts.Pushed, Commit: "abc"}, false},
		"local":                       {attempts.Delivery{State: attempts.Local, Commit: "abc"}, false},
	} {
		if got := c.told.IsMissing("abc"); got != c.want {
			t.Errorf("%s: missing is %v", name, got)
		}
	}
}
