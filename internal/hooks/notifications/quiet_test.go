package notifications

import (
	"testing"
	"time"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// Quiet hours end by the clock on the wall: over midnight, where an hour is missing and where one comes twice.
func TestQuietHours(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for name, c := range map[string]struct {
		from, to string
		zone     *time.Location
		at, want string
	}{
		"before":                  {"22:00", "07:00", berlin, "2026-01-10T21:59:59+01:00", "2026-01-10T21:59:59+01:00"},
		"at the beginning":        {"22:00", "07:00", berlin, "2026-01-10T22:00:00+01:00", "2026-01-11T07:00:00+01:00"},
		"before midnight":         {"22:00", "07:00", berlin, "2026-01-10T23:59:59+01:00", "2026-01-11T07:00:00+01:00"},
		"after midnight":          {"22:00", "07:00", berlin, "2026-01-11T00:00:01+01:00", "2026-01-11T07:00:00+01:00"},
		"the last minute":         {"22:00", "07:00", berlin, "2026-01-11T06:59:59+01:00", "2026-01-11T07:00:00+01:00"},
		"at the end":              {"22:00", "07:00", berlin, "2026-01-11T07:00:00+01:00", "2026-01-11T07:00:00+01:00"},
		"within a day":            {"12:00", "13:30", berlin, "2026-01-11T12:10:00+01:00", "2026-01-11T13:30:00+01:00"},
		"night with 23 hours":     {"22:00", "07:00", berlin, "2026-03-28T23:00:00+01:00", "2026-03-29T07:00:00+02:00"},
		"night with 25 hours":     {"22:00", "07:00", berlin, "2026-10-24T23:00:00+02:00", "2026-10-25T07:00:00+01:00"},
		"end that is missing":     {"22:00", "02:30", berlin, "2026-03-29T01:59:00+01:00", "2026-03-29T03:00:00+02:00"},
		"end that comes twice":    {"22:00", "02:30", berlin, "2026-10-25T02:10:00+02:00", "2026-10-25T02:30:00+02:00"},
		"and again":               {"22:00", "02:30", berlin, "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+01:00"},
		"a zone by half an hour":  {"22:00", "07:00", zone(t, "Asia/Kolkata"), "2026-01-10T17:00:00Z", "2026-01-11T01:30:00Z"},
		"a zone by three fourths": {"22:00", "07:00", zone(t, "Asia/Kathmandu"), "2026-01-10T17:00:00Z", "2026-01-11T01:15:00Z"},
		"none":                    {"22:00", "07:00", nil, "2026-01-10T23:00:00Z", "2026-01-10T23:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			from, _ := parseClock(c.from)
			to, _ := parseClock(c.to)
			at, err := time.Parse(time.RFC3339, c.at)
			if err != nil {
				t.Fatal(err)
			}
			want, err := time.Parse(time.RFC3339, c.want)
			if err != nil {
				t.Fatal(err)
			}
			if got := (quiet{from, to, c.zone}).after(at); !got.Equal(want) {
				t.Errorf("it ends at %v, want %v", got, want)
			}
		})
	}
}

// What comes in the time of a digest, or at night, is due at one moment.
func TestADigestGathers(t *testing.T) {
	p := person{digest: 30 * time.Minute, quiet: quiet{22 * 60, 7 * 60, zone(t, "Europe/Berlin")}}
	at := func(clock string) time.Time {
		v, err := time.Parse(time.RFC3339, "2026-01-10T"+clock+":00Z")
		if err != nil {
			t.Fatal(err)
		}
		return p.due(v).UTC()
	}
	if a, b := at("10:01"), at("10:29"); !a.Equal(b) || a.Format("15:04") != "10:30" {
		t.Errorf("a digest of %v and %v", a, b)
	}
	if a, b := at("21:10"), at("23:50"); !a.Equal(b) || a.Format("15:04") != "06:00" {
		t.Errorf("a morning of %v and %v", a, b)
	}
}

func TestClocks(t *testing.T) {
	for text, want := range map[string]int{"00:00": 0, "23:59": 1439, "07:05": 425, "24:00": -1, "7:05": -1, "12:60": -1, "": -1, "12:00:00": -1, " 1:00": -1} {
		n, ok := parseClock(text)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q is %d, want %d", text, n, want)
		}
	}
}
