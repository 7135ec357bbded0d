// Package envtest reads how long and from which seed tests run, where the environment says so.
package envtest

import (
	"encoding/json"
	"os"
	"testing"
)

// Number returns the number that a variable of the environment says, else otherwise.
func Number[N int | int64 | uint64](t *testing.T, name string, otherwise N) (n N) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%s must be a number: %v", name, err)
	}
	return n
}
