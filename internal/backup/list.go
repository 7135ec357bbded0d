package backup

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Found is a backup in a store.
type Found struct {
	Manifest
	// Signer is the public key that signed it.
	Signer []byte
}

// List returns the backups of a store, the oldest first. One that was not finished is none.
func List(ctx context.Context, store Store) (list []Found, err error) {
	ids, err := folders(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		f, err := read(ctx, store, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// folders returns the names of all folders that may be backups.
func folders(ctx context.Context, store Store) ([]string, error) {
	names, err := store.List(ctx, "2") // ids begin with the year
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, name := range names {
		id, _, found := strings.Cut(name, "/")
		if _, err := begunAt(id); err == nil && found && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// begunAt reads when a backup was begun out of its id.
func begunAt(id string) (time.Time, error) {
	text, _, _ := strings.Cut(id, "-")
	return time.Parse(idForm, text)
}

// read reads the manifest of a backup.
func read(ctx context.Context, store Store, id string) (f Found, err error) {
	name := id + "/" + manifestName
	text, err := store.Get(ctx, name)
	if err != nil {
		return f, err
	}
	if f.Signer, err = unsign(name, text, &f.Manifest); err != nil {
		return f, err
	}
	if f.Format > format {
		return f, refuse("the backup %s was made by a newer version, %s: restore it with that version, or a newer one", id, f.Product)
	}
	if f.ID != id {
		return f, damaged(name)
	}
	return f, nil
}

// choose returns the backup to restore: the newest, or the newest that was finished before a time.
func choose(list []Found, at time.Time) (Found, error) {
	if len(list) == 0 {
		return Found{}, refuse("there is no backup: one that was not finished is none")
	}
	if at.IsZero() {
		return list[len(list)-1], nil
	}
	for _, f := range slices.Backward(list) {
		if !f.Ended.After(at) {
			return f, nil
		}
	}
	return Found{}, refuse("the oldest backup was finished at %s, which is after %s: name a later time", stamp(list[0].Ended), stamp(at))
}

// stamp writes a time as --at reads it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
