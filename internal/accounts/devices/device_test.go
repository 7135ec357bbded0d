package devices_test

import (
	"testing"

	"github.com/fleetboard/fleetboard/internal/accounts/accountstest"
	"github.com/fleetboard/fleetboard/internal/accounts/devices"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// One browser is known for several accounts, each by a word of its own.
func TestABrowserOfSeveralPeople(t *testing.T) {
	s := accountstest.StartedWithOwner(t)
	known, people := "", []ids.ID{}
	for range devices.Max + 1 {
		people = append(people, ids.New())
		known = s.Devices.Know(known, people[len(people)-1], 1)
	}
	again := s.Devices.Know(known, people[2], 2)
	for i, id := range people {
		_, ok := s.Devices.Known(known, id, 1)
		if want := i > 0; ok != want {
			t.Errorf("person %d: known %t, want %t", i, ok, want)
		}
	}
	before, _ := s.Devices.Known(known, people[2], 1)
	if after, ok := s.Devices.Known(again, people[2], 2); !ok || after != before {
		t.Error("the browser got another name")
	}
	if len(again) > 500 {
		t.Errorf("the cookie has %d bytes", len(again))
	}
}
