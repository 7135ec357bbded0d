package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/internal/fault"
)

const (
	// maxDepth is how deep a body may be nested.
	maxDepth = 32
	// maxDigits bounds a number's length and its exponent, so that PostgreSQL
	// can keep it exactly.
	maxDigits = 300
	// maxValues bounds how many values a body holds, with those in lists and objects.
	maxValues = 65_536
	// bytesOfValue is the memory that a value takes at most once it is parsed,
	// bytesOfByte what a byte of a body stands for.
	bytesOfValue = 180
	bytesOfByte  = 45
	// maxRepaired bounds a body in which what is not UTF-8 is written out, so that its
	// fields can be named: each byte may become six.
	maxRepaired = 256 << 10
)

// Memory returns what the values of a body take at most once it is parsed; length and result
// are bytes.
func Memory(length int64) int64 { return min(bytesOfByte*length, bytesOfValue*maxValues) }

// Decode reads a JSON body strictly, checks it against a schema and returns it
// in canonical form: keys sorted, no spaces, numbers as they were written.
//
// Faults: Malformed for what is not JSON, trailing data, nesting deeper than
// maxDepth, fields that are unknown, given twice or of the wrong type;
// Validation for values that do not fit, and for too many of them, as soon as there
// is one too many.
func Decode(raw []byte, schema *openapi3.Schema) ([]byte, error) {
	d, err := parse(raw, schema)
	if err != nil {
		return nil, err
	}
	return d.Canonical(schema)
}

// Document is a JSON value that was read and not yet checked: objects are
// map[string]any, arrays []any, numbers json.Number.
type Document struct {
	Value any
	found findings
}

// Parse reads a body strictly, like Decode, where its schema is known only from what
// stands in it.
func Parse(raw []byte) (*Document, error) { return parse(raw, nil) }

// Canonical checks the document against a schema and returns it in canonical form. Its
// faults are those of Decode.
func (d *Document) Canonical(schema *openapi3.Schema) ([]byte, error) {
	d.found.check("", d.Value, schema)
	if err := d.found.fault(); err != nil {
		return nil, err
	}
	var canonical bytes.Buffer
	encoder := json.NewEncoder(&canonical)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d.Value); err != nil {
		return nil, fmt.Errorf("canonical body: %w", err)
	}
	return canonical.Bytes(), nil
}

// parse reads one JSON value and nothing after it. The schema, nil for any value, says how
// many entries its lists may have.
func parse(raw []byte, schema *openapi3.Schema) (*Document, error) {
	// Bytes that are no UTF-8, and escapes that are half a character, become a
	// NUL: inside a string it is refused with
	// the name of its field, anywhere else it is no JSON.
	if !utf8.Valid(raw) {
		if len(raw) > maxRepaired {
			return nil, fault.New(fault.Malformed, "The body is not UTF-8.")
		}
		raw = bytes.ToValidUTF8(raw, []byte(`\u0000`))
	}
	raw = withoutHalves(raw)
	if !json.Valid(raw) {
		return nil, notJSON(json.Unmarshal(raw, new(json.RawMessage)))
	}
	p := &parser{decoder: json.NewDecoder(bytes.NewReader(raw))}
	p.decoder.UseNumber()
	value, err := p.value("", 0, schema)
	return &Document{Value: value, found: p.found}, err
}

// withoutHalves turns each escape of a surrogate that has no partner into that
// of a NUL: the decoder would silently replace it by another character.
func withoutHalves(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	raw = bytes.Clone(raw)
	for i := 0; i < len(raw)-1; i++ {
		if raw[i] != '\\' {
			continue
		}
		unit, ok := escaped(raw[i:])
		switch {
		case !ok:
			i++
		case !utf16.IsSurrogate(unit):
			i += escapeLength - 1
		default:
			partner, _ := escaped(raw[i+escapeLength:])
			if utf16.DecodeRune(unit, partner) == utf8.RuneError {
				copy(raw[i:], `\u0000`)
				i += escapeLength - 1
			} else {
				i += 2*escapeLength - 1
			}
		}
	}
	return raw
}

// escapeLength is that of an escape like \u00e9, in bytes.
const escapeLength = 6

// escaped reads the escape that raw begins with.
func escaped(raw []byte) (rune, bool) {
	if len(raw) < escapeLength || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[2:escapeLength]), 16, 16)
	return rune(unit), err == nil
}

func notJSON(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fault.Wrap(err, fault.Malformed, "The body is not one JSON value; see byte %d.", syntax.Offset)
	}
	return fault.Wrap(err, fault.Malformed, "The body is not one JSON value.")
}

type parser struct {
	decoder *json.Decoder
	found   findings
	values  int // read so far
}

// value reads the next value; path names it, depth counts what it lies in, schema is
// nil where it may be anything.
func (p *parser) value(path string, depth int, schema *openapi3.Schema) (any, error) {
	token, err := p.decoder.Token()
	if err != nil {
		return nil, notJSON(err)
	}
	if p.values++; p.values > maxValues {
		return nil, fault.Invalid(short(path), "It must hold at most %d values, with those in lists and objects.", maxValues)
	}
	switch t := token.(type) {
	case json.Delim:
		if depth == maxDepth {
			refusal := fault.New(fault.Malformed, "The body is nested deeper than %d levels.", maxDepth)
			refusal.Fields = map[string]string{short(path): "It must not be nested so deep."}
			return nil, refusal
		}
		if t == '{' {
			return p.object(path, depth, schema)
		}
		return p.array(path, depth, schema)
	case string:
		p.found.text(path, t)
	case json.Number:
		p.found.number(path, t)
	}
	return token, nil
}

func (p *parser) object(path string, depth int, schema *openapi3.Schema) (any, error) {
	object := map[string]any{}
	for p.decoder.More() {
		token, err := p.decoder.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		key, ok := token.(string)
		if !ok {
			return nil, fault.New(fault.Malformed, "The body is not one JSON value.")
		}
		field := join(path, key)
		p.found.text(field, key)
		if _, twice := object[key]; twice {
			p.found.unreadable(field, "It must be given once.")
		}
		if object[key], err = p.value(field, depth+1, property(schema, key)); err != nil {
			return nil, err
		}
	}
	_, err := p.decoder.Token()
	return object, err
}

// property returns the schema of an object's field, nil where nothing is said of it.
func property(schema *openapi3.Schema, key string) *openapi3.Schema {
	if schema == nil || schema.Properties[key] == nil {
		return nil
	}
	return schema.Properties[key].Value
}

func (p *parser) array(path string, depth int, schema *openapi3.Schema) (any, error) {
	array := []any{}
	var items *openapi3.Schema
	if schema != nil && schema.Items != nil {
		items = schema.Items.Value
	}
	for p.decoder.More() {
		if schema != nil && schema.MaxItems != nil && uint64(len(array)) == *schema.MaxItems {
			return nil, fault.Invalid(short(path), mostEntries, *schema.MaxItems)
		}
		item, err := p.value(path+"["+strconv.Itoa(len(array))+"]", depth+1, items)
		if err != nil {
			return nil, err
		}
		array = append(array, item)
	}
	_, err := p.decoder.Token()
	return array, err
}

// join names a field of an object. Names stay short, whatever the sender makes
// of them: each value of a body gets one.
func join(path, key string) string {
	if path == "" {
		return short(key)
	}
	return short(path + "." + short(key))
}

// text refuses what PostgreSQL cannot keep as text.
func (f *findings) text(field, s string) {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		f.unfit(strings.ToValidUTF8(strings.ReplaceAll(field, "\x00", "�"), "�"), "It must hold text only: UTF-8, without NUL characters.")
	}
}

// number refuses what could only be kept rounded, or not at all.
func (f *findings) number(field string, n json.Number) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	power := 0
	if exponent != "" {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			power = maxDigits + 1
		}
	}
	if len(mantissa) > maxDigits || power > maxDigits || power < -maxDigits {
		f.unfit(field, "It must have at most %d digits.", maxDigits)
	}
}
