package s3_test

import (
	"errors"
	"io/fs"
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/blobs/s3"
	"github.com/fleetboard/fleetboard/internal/blobs/s3/s3test"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	o, err := s3.NewObjects(s3test.Serve(t).Address(), s3.Credentials{AccessKey: "key", SecretKey: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, name := range []string{"b/2", "b/1", "c/1"} {
		if err := o.Put(ctx, name, []byte("content of "+name)); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := o.List(ctx, "b/"); err != nil || !slices.Equal(names, []string{"b/1", "b/2"}) {
		t.Errorf("listed are %q, %v", names, err)
	}
	if content, err := o.Get(ctx, "b/1"); err != nil || string(content) != "content of b/1" {
		t.Errorf("read is %q, %v", content, err)
	}
	if err := o.Remove(ctx, "b/1"); err != nil {
		t.Error(err)
	}
	if _, err := o.Get(ctx, "b/1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was removed: %v", err)
	}
}
