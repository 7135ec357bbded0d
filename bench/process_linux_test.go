package main

import (
	"os"
	"testing"
	"time"
)

// What a process takes rises while it works, and it holds its pages.
func TestAProcessTellsWhatItTakes(t *testing.T) {
	before, err := readUsage(os.Getpid())
	if err != nil || before.RSS < 1<<20 {
		t.Fatalf("%+v, %v", before, err)
	}
	began := time.Now()
	for after := before; after.CPU < before.CPU+10*clockTick; {
		if time.Since(began) > time.Minute {
			t.Fatalf("a minute of work took %s", after.CPU-before.CPU)
		}
		for n := range 1_000_000 {
			_ = n
		}
		if after, err = readUsage(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if got := ofACore(usage{CPU: time.Second}, usage{CPU: 2 * time.Second}, 4*time.Second); got != 25 {
		t.Errorf("a second of four is %g %% of a core", got)
	}
}
