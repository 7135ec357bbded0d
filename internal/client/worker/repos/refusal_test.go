package repos

import (
	"errors"
	"fmt"
	"testing"
)

// What the origin says is reported without what git says around it, and everything where the
// origin says nothing.
func TestARefusalIsInTheOriginsWords(t *testing.T) {
	for said, want := range map[string]string{
		"remote: branches need a ticket        \nremote: ask Mara\nTo /home/x/ledger.git\n ! [remote rejected] b -> b (pre-receive hook declined)\n" +
			"error: failed to push some refs to '/home/x/ledger.git'": "branches need a ticket\nask Mara\n! [remote rejected] b -> b (pre-receive hook declined)",
		"To https://git.example/x\n ! [rejected]        b -> b (non-fast-forward)\nerror: failed": "! [rejected]        b -> b (non-fast-forward)",
		"fatal: it broke": "the origin refused the branch: git push: exit status 1: fatal: it broke",
	} {
		err := fmt.Errorf("%w: git push: %w: %s", ErrRefused, errors.New("exit status 1"), said)
		if got := RefusalWords(err); got != want {
			t.Errorf("of %q it tells %q", said, got)
		}
	}
}
