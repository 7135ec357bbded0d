package cli

import "testing"

// What is said of the flags of a new job is of fields that it has, and a field of which nothing is said
// has a flag, too.
func TestEachFieldOfANewJobHasAFlag(t *testing.T) {
	t.Parallel()
	for _, said := range newJobWords {
		fieldNamed(newJob, said.field) // it panics where there is none
	}
	flags := jobCreate(&cli{}).Flags()
	for _, name := range []string{"needs", "minutes", "estimated-complexity", "not-before", "waits-for-children"} {
		if flags.Lookup(name) == nil {
			t.Errorf("there is no --%s", name)
		}
	}
	for _, name := range []string{"title", "secret-keys", "input-context", "discovered-from"} {
		if flags.Lookup(name) != nil {
			t.Errorf("there is --%s, which no text, number, time, choice or list is of", name)
		}
	}
}
