package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// spread is what a list of waits comes to.
type spread []time.Duration

func (s spread) String() string {
	if len(s) == 0 {
		return "none"
	}
	slices.Sort(s)
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
	return fmt.Sprintf("%d, p50 %s, max %s", len(s), round(s[(len(s)-1)/2]), round(s[len(s)-1]))
}

// freedAgain returns the waits from the kill of an agent to the end of each lease
// that it held and that nobody ended for it.
func freedAgain(jobs map[string]*record, kills []kill) (waits spread) {
	for _, k := range kills {
		for _, r := range jobs {
			for _, a := range r.attempts {
				if a.Agent == k.agent && a.ClaimedAt.Before(k.at) && a.EndedAt != nil && a.EndedAt.After(k.at) {
					waits = append(waits, a.EndedAt.Sub(k.at))
				}
			}
		}
	}
	return waits
}

// slowest returns the longest of a list of waits.
func (s spread) slowest() time.Duration {
	if len(s) == 0 {
		return 0
	}
	return slices.Max(s)
}

// claimedAgain returns the waits from the kill of an agent to the next claim of each
// job that it held. Jobs that a person stopped in between are left out.
func claimedAgain(jobs map[string]*record, kills []kill) (waits spread) {
	for _, k := range kills {
		for _, r := range jobs {
			for _, a := range r.attempts {
				held := a.Agent == k.agent && a.ClaimedAt.Before(k.at) && (a.EndedAt == nil || a.EndedAt.After(k.at))
				next, again := r.attempts[a.Epoch+1]
				if held && again && slices.Contains([]string{"lost", "released"}, a.Outcome) {
					waits = append(waits, next.ClaimedAt.Sub(k.at))
				}
			}
		}
	}
	return waits
}

// firstClaims returns the waits from each crash of PostgreSQL to the first claim
// that an agent was answered after it, and the time that it was down.
func firstClaims(diaries []line, crashes []crash) (claims, down spread) {
	for _, c := range crashes {
		down = append(down, c.back.Sub(c.at))
		first := time.Time{}
		for _, l := range diaries {
			if l.Verb == "claim" && l.accepted() && l.At.After(c.started) && (first.IsZero() || l.At.Before(first)) {
				first = l.At
			}
		}
		if !first.IsZero() {
			claims = append(claims, first.Sub(c.at))
		}
	}
	return claims, down
}

// report returns the table that a run ends with.
func report(seed uint64, v *verdict, m *monkey, person, agents []line) string {
	var b strings.Builder
	row := func(what string, value any) { fmt.Fprintf(&b, "  %-46s %v\n", what, value) }
	fmt.Fprintf(&b, "chaos with the seed %d\n", seed)
	statuses, endings, answers := map[string]int{}, map[string]int{}, map[string]int{}
	attempts := 0
	for _, r := range v.jobs {
		statuses[r.Status]++
		for _, a := range r.attempts {
			attempts++
			endings[a.Outcome]++
		}
	}
	for _, l := range slices.Concat(agents, person) {
		answers[cmp.Or(l.Code, "accepted")]++
	}
	row("jobs", len(v.jobs))
	each := func(what string, counts map[string]int) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			row("  "+what+" "+name, counts[name])
		}
	}
	each("that ended", statuses)
	row("attempts", attempts)
	each("that ended", endings)
	row("answers held against the database", len(agents)+len(person))
	each("of them", answers)
	row("damage", "")
	each("", m.tally)
	row("killed agent to its lease's end", freedAgain(v.jobs, m.kills))
	row("killed agent to its job's next claim", claimedAgain(v.jobs, m.kills))
	claims, down := firstClaims(agents, m.crashes)
	row("crash of PostgreSQL to the first claim", claims)
	row("of that, PostgreSQL was down", down)
	return b.String()
}
