package vault

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetboard/fleetboard/internal/ids"
)

func keysOf(list ...Key) Keys {
	keys := Keys{}
	for _, k := range list {
		keys[k.ID] = k.plain
	}
	return keys
}

// What was sealed opens in its place and in no other, and only as it was.
func TestASealedValueOpensOnlyWhereItWasSealed(t *testing.T) {
	key, other := Key{ID: 1, plain: newKey()}, Key{ID: 2, plain: newKey()}
	keys := keysOf(key, other)
	place := Place{Table: "job_secret", Column: "sealed", Workspace: ids.New(), Row: ids.New(), Name: "TOKEN"}
	sealed := key.Seal(place, []byte(`"s3cr3t"`))
	if plain, err := keys.Open(place, sealed); err != nil || string(plain) != `"s3cr3t"` {
		t.Fatalf("in its place: %q, %v", plain, err)
	}
	moved := func(change func(*Place)) Place {
		p := place
		change(&p)
		return p
	}
	for what, p := range map[string]Place{
		"another row":       moved(func(p *Place) { p.Row = ids.New() }),
		"another name":      moved(func(p *Place) { p.Name = "PASSWORD" }),
		"another workspace": moved(func(p *Place) { p.Workspace = ids.New() }),
		"another column":    moved(func(p *Place) { p.Column = "name" }),
		"another table":     moved(func(p *Place) { p.Table = "account" }),
		"names run together": moved(func(p *Place) {
			p.Table, p.Column = `job_secret" "sealed`, ""
		}),
	} {
		if plain, err := keys.Open(p, sealed); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", what, plain, err)
		}
	}
	for what, s := range map[string]Sealed{
		"unknown key":     {Key: 3, Bytes: sealed.Bytes},
		"the other key":   {Key: 2, Bytes: sealed.Bytes},
		"unknown version": {Key: 1, Bytes: append([]byte{version + 1}, sealed.Bytes[1:]...)},
		"longer":          {Key: 1, Bytes: append(slices.Clone(sealed.Bytes), 0)},
		"empty":           {Key: 1},
		"version alone":   {Key: 1, Bytes: []byte{version}},
	} {
		if plain, err := keys.Open(place, s); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q, %v", what, plain, err)
		}
	}
	for bit := range 8 * len(sealed.Bytes) {
		flipped := slices.Clone(sealed.Bytes)
		flipped[bit/8] ^= 1 << (bit % 8)
		if plain, err := keys.Open(place, Sealed{Key: 1, Bytes: flipped}); !errors.Is(err, ErrRefused) {
			t.Errorf("bit %d flipped: %q, %v", bit, plain, err)
		}
	}
	for n := range len(sealed.Bytes) {
		if plain, err := keys.Open(place, Sealed{Key: 1, Bytes: sealed.Bytes[:n]}); !errors.Is(err, ErrRefused) {
			t.Errorf("cut to %d bytes: %q, %v", n, plain, err)
		}
	}
	if _, err := (Keys{1: nil}).Open(place, sealed); !errors.Is(err, ErrLocked) {
		t.Errorf("a key that this process was not given: %v", err)
	}
}

func TestSealedValuesOfAnyKind(t *testing.T) {
	id := rapid.Custom(func(t *rapid.T) ids.ID { return ids.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id")) })
	place := rapid.Custom(func(t *rapid.T) Place {
		return Place{Table: rapid.String().Draw(t, "table"), Column: rapid.String().Draw(t, "column"), Workspace: id.Draw(t, "workspace"),
			Row: id.Draw(t, "row"), Name: rapid.String().Draw(t, "name")}
	})
	rapid.Check(t, func(t *rapid.T) {
		key := Key{ID: 1, plain: rapid.SliceOfN(rapid.Byte(), KeySize, KeySize).Draw(t, "key")}
		here, there := place.Draw(t, "here"), place.Draw(t, "there")
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		sealed, again := key.Seal(here, plain), key.Seal(here, plain)
		if opened, err := keysOf(key).Open(here, sealed); err != nil || !bytes.Equal(opened, plain) {
			t.Fatalf("in its place: %q, %v", opened, err)
		}
		if bytes.Equal(sealed.Bytes, again.Bytes) {
			t.Fatal("the same value is sealed into the same bytes twice")
		}
		if len(plain) >= 8 && bytes.Contains(sealed.Bytes, plain) {
			t.Fatal("the sealed bytes hold the value")
		}
		if opened, err := keysOf(key).Open(there, sealed); here != there && !errors.Is(err, ErrRefused) {
			t.Fatalf("in another place: %q, %v", opened, err)
		}
		at := rapid.IntRange(0, len(sealed.Bytes)-1).Draw(t, "at")
		sealed.Bytes[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "bits"))
		if opened, err := keysOf(key).Open(here, sealed); !errors.Is(err, ErrRefused) {
			t.Fatalf("changed: %q, %v", opened, err)
		}
	})
}

// A ring opens what its keys sealed, each use of them apart.
func TestARing(t *testing.T) {
	before, now := newKey(), newKey()
	place := Place{Table: "account", Column: "factor", Row: ids.New()}
	old, ring := NewRing("factor", before), NewRing("factor", now, before)
	for what, c := range map[string]struct {
		sealed  []byte
		present bool
	}{"the present key": {ring.Seal(place, []byte("x")), true}, "an earlier key": {old.Seal(place, []byte("x")), false}} {
		plain, present, err := ring.Open(place, c.sealed)
		if err != nil || string(plain) != "x" || present != c.present {
			t.Errorf("%s: %q, present %t, %v", what, plain, present, err)
		}
	}
	sealed := ring.Seal(place, []byte("x"))
	for what, r := range map[string]Ring{"the earlier key alone": old, "another use": NewRing("cookie", now, before)} {
		if _, _, err := r.Open(place, sealed); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if d := ring.digests([]byte("body")); len(d) != 2 || !bytes.Equal(d[1], old.digests([]byte("body"))[0]) || bytes.Equal(d[0], d[1]) {
		t.Error("the digests are not those of the present key and then of the earlier one")
	}
}
