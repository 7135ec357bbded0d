package passwords

import (
	"context"
	"errors"
	"strings"
	"testing"
)

const testPassword = "correct horse battery"

// What the server makes costs what the standards ask for.
func TestCostOfAHash(t *testing.T) {
	p := New(DefaultCost)
	encoded, err := p.Hash(t.Context(), Asker{}, testPassword)
	if err != nil || !strings.HasPrefix(encoded, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("%s, %v", encoded, err)
	}
	if !strings.HasPrefix(p.nobody, "$argon2id$v=19$m=65536,t=3,p=4$") {
		t.Errorf("for nobody: %s", p.nobody)
	}
	if ok, weak, err := p.Check(t.Context(), Asker{}, encoded, testPassword); !ok || weak || err != nil {
		t.Errorf("fits %v, weak %v, %v", ok, weak, err)
	}
}

func TestPasswordsWaitForTheirTurn(t *testing.T) {
	p := New(DefaultCost)
	p.Fill()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// Also for an account that is not there: its answer costs a hash as well.
	for _, stored := range []string{"", p.nobody} {
		if _, _, err := p.Check(ctx, Asker{}, stored, testPassword); !errors.Is(err, context.Canceled) {
			t.Errorf("check(%q) = %v, want it to wait for the gate", stored, err)
		}
	}
}

func TestDamagedHashIsAnError(t *testing.T) {
	p := New(DefaultCost)
	sum := strings.Repeat("A", 43) // 32 bytes
	if _, _, err := p.Check(t.Context(), Asker{}, "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$"+sum, testPassword); err != nil {
		t.Fatalf("the model of the damage is refused itself: %v", err)
	}
	for _, stored := range []string{
		"plain", "$argon2i$v=19$m=8,t=1,p=1$c2FsdA$" + sum, "$argon2id$v=16$m=8,t=1,p=1$c2FsdA$" + sum,
		"$argon2id$v=19$m=8,t=0,p=1$c2FsdA$" + sum, "$argon2id$v=19$m=8,t=1,p=0$c2FsdA$" + sum,
		"$argon2id$v=19$m=8$c2FsdA$" + sum, "$argon2id$v=19$m=8,t=1,p=1$!!$" + sum, "$argon2id$v=19$m=8,t=1,p=1$c2FsdA$c3Vt",
	} {
		if ok, _, err := p.Check(t.Context(), Asker{}, stored, testPassword); ok || err == nil {
			t.Errorf("check(%q) = %v, %v", stored, ok, err)
		}
	}
}
