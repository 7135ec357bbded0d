package main

import (
	"os"
	"testing"
)

// TestTheDocumentIsCurrent: docs/cli.md is what the commands say now.
func TestTheDocumentIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := document("../../../../" + description)
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile("../../../../" + written)
	if err != nil || string(is) != want {
		t.Errorf("%s is not what the commands say now: run make generate (%v)", written, err)
	}
}
