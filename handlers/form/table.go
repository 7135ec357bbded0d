package form

import (
	"cmp"
	"crypto/sha256"
	"net/url"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/views/ui"
)

// Field is a field of a form that edits a T.
type Field[T any] struct {
	ui.Field

	also []string                        // further names that refusals have for it
	read func([]string) []string         // trims what was sent
	get  func(*T) []string               // returns the value as it would be typed
	set  func(*T, []string) (why string) // writes what was typed, and returns what is wrong with it
}

// Table is the fields of a form, in their order on the page, in which their values are
// written too.
type Table[T any] []Field[T]

// Note returns the field with words beside its label.
func (f Field[T]) Note(text string) Field[T] { f.Field.Note = text; return f }

// Focus returns the field with the id of the element that takes its focus.
func (f Field[T]) Focus(id string) Field[T] { f.ID = id; return f }

// WithKind returns the field with a kind of input.
func (f Field[T]) WithKind(kind ui.FieldKind) Field[T] { f.Kind = kind; return f }

// Check returns the field with a further rule, which returns what is wrong with what was typed,
// "" for nothing.
func (f Field[T]) Check(rule func(*T) (why string)) Field[T] {
	set := f.set
	f.set = func(v *T, in []string) string { return cmp.Or(set(v, in), rule(v)) }
	return f
}

// Options returns the field as a choice of values, each with its label behind it.
func (f Field[T]) Options(values ...string) Field[T] {
	for pair := range slices.Chunk(values, 2) {
		f.Field.Options = append(f.Field.Options, ui.Option{Value: pair[0], Label: pair[1]})
	}
	return f
}

// Also returns the field with names that refusals have for it.
func (f Field[T]) Also(names ...string) Field[T] { f.also = names; return f }

// Read returns the form as it was sent, unchecked.
func (t Table[T]) Read(in url.Values) ui.Form {
	f := t.form()
	for _, field := range t {
		f.Typed[field.Name] = field.read(in[field.Name])
	}
	return f
}

// Fill returns the form as it would have been typed for v.
func (t Table[T]) Fill(v T) ui.Form {
	f := t.form()
	for _, field := range t {
		f.Typed[field.Name] = field.get(&v)
	}
	return f
}

func (t Table[T]) form() ui.Form {
	f := ui.Form{Typed: url.Values{}, Errors: map[string]string{}}
	for _, field := range t {
		f.Fields = append(f.Fields, field.Field)
	}
	return f
}

// Value returns the value that a form describes. Fault: Validation of each field whose text could
// not be read; the domain checks the rest.
func (t Table[T]) Value(f ui.Form) (v T, err error) {
	p := fault.Problems{}
	for _, field := range t {
		if why := field.set(&v, f.Typed[field.Name]); why != "" {
			p.Add(field.Name, "%s", why)
		}
	}
	return v, p.Err()
}

// Refuse writes a refusal into the form: the problem of a field beside that field, the rest above
// the form. It takes refusals with the code Validation or one of codes, and returns any other
// error.
func (t Table[T]) Refuse(f *ui.Form, err error, codes ...fault.Code) error {
	refused := fault.From(err)
	if refused.Code != fault.Validation && !slices.Contains(codes, refused.Code) {
		return err
	}
	if len(refused.Fields) == 0 {
		f.Error = refused.Message
		return nil
	}
	var rest []string
	for _, name := range refused.Names() {
		i := slices.IndexFunc(t, func(field Field[T]) bool { return field.is(name) })
		if i < 0 {
			rest = append(rest, refused.Fields[name])
		} else if shown := t[i].Name; f.Errors[shown] == "" {
			f.Errors[shown] = refused.Fields[name]
		}
	}
	f.Error = strings.Join(rest, " ")
	return nil
}

// is reports whether a refusal means the field by a name such as name, name[2] or list[0].name.
func (f Field[T]) is(name string) bool {
	if _, after, found := strings.Cut(name, "]."); found {
		name = after
	}
	name, _, _ = strings.Cut(name, "[")
	return f.Name == name || slices.Contains(f.also, name)
}

// Digest returns a hash of all that was typed into a form.
func Digest(f ui.Form) []byte {
	sum := sha256.Sum256([]byte(f.Typed.Encode()))
	return sum[:]
}
