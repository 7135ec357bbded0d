package form_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/fleetboard/fleetboard/handlers/form"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/views/ui"
)

type parcel struct {
	name  string
	note  string
	size  *int
	tags  []string
	fast  bool
	where string
}

var fields = form.Table[parcel]{
	form.Line("name", "Name", 20, func(p *parcel) *string { return &p.name }),
	form.Text("note", "Note", 200, func(p *parcel) *string { return &p.note }).Also("remark"),
	form.Number("size", "Size", 1, 9, func(p *parcel) **int { return &p.size }).WithKind(ui.KindNumber),
	form.List("tags", "Tags", web.Distinct, func(p *parcel) []string { return p.tags }, func(p *parcel, list []string) { p.tags = list }),
	form.Box("fast", "Fast", func(p *parcel) *bool { return &p.fast }),
	form.Choice("where", "Where", func(p *parcel) *string { return &p.where }).Options("n", "North"),
}

func typed() url.Values {
	return url.Values{"name": {" box "}, "note": {" a\r\nb"}, "size": {"3"}, "tags": {"x", " ", "x", "y"}, "fast": {"1"}, "where": {"n"},
		"stranger": {"?"}}
}

// What was typed becomes the value, and the value what would have been typed.
func TestATableReadsAndFills(t *testing.T) {
	t.Parallel()
	f := fields.Read(typed())
	p, err := fields.Value(f)
	if err != nil || p.name != "box" || p.note != " a\nb" || *p.size != 3 || strings.Join(p.tags, " ") != "x y" || !p.fast || p.where != "n" {
		t.Errorf("read %+v, %v", p, err)
	}
	again := fields.Fill(p)
	if again.Typed.Encode() != f.Typed.Encode() || again.Typed.Has("stranger") {
		t.Errorf("filled %v; typed %v", again.Typed, f.Typed)
	}
	if again.Word("where") != "North" || !again.Choices("where", nil)[0].Selected || !again.Checked("fast") {
		t.Errorf("the choice is %q", again.Word("where"))
	}
}

// The digest is of what a form says: of all of it, and of nothing else.
func TestTheDigestIsWhatAFormSays(t *testing.T) {
	t.Parallel()
	in := typed()
	one := string(form.Digest(fields.Read(in)))
	in.Set("stranger", "!")
	if string(form.Digest(fields.Read(in))) != one {
		t.Error("a field that the form does not have changes its digest")
	}
	for name := range in {
		if name == "stranger" {
			continue
		}
		other := typed()
		other.Set(name, "other")
		if name == "fast" {
			other.Del(name)
		}
		if string(form.Digest(fields.Read(other))) == one {
			t.Errorf("another %s has the same digest", name)
		}
	}
}

// A refusal comes to its fields by their names and to the form by the rest, the first by name
// where one field has several.
func TestRefusalsComeToTheirFields(t *testing.T) {
	t.Parallel()
	in := typed()
	in.Set("size", "12")
	f := fields.Read(in)
	_, err := fields.Value(f)
	if err := fields.Refuse(&f, err); err != nil || f.Errors["size"] != "A whole number from 1 to 9." || f.Text("size") != "12" {
		t.Errorf("%v, %v", f.Errors, err)
	}
	for range 20 {
		f = fields.Read(in)
		err = fault.InvalidFields(map[string]string{"list[0].name": "taken", "tags[1]": "second", "tags[0]": "first", "remark": "long",
			"b": "B.", "a": "A."})
		if err := fields.Refuse(&f, err); err != nil || len(f.Errors) != 3 || f.Errors["name"] != "taken" || f.Errors["tags"] != "first" ||
			f.Errors["note"] != "long" || f.Error != "A. B." {
			t.Fatalf("%v %q, %v", f.Errors, f.Error, err)
		}
	}
	if list := f.Faults(); len(list) != 3 || list[0].Label != "Name" || list[2].ID != "tags" {
		t.Errorf("faults %v", list)
	}
	gone := fault.New(fault.NotFound, "gone")
	if err := fields.Refuse(&f, gone); err == nil {
		t.Error("the form takes what is not about it")
	}
	if err := fields.Refuse(&f, gone, fault.NotFound); err != nil || f.Error != "gone" {
		t.Errorf("%q, %v", f.Error, err)
	}
}
