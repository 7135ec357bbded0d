package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	// maxNamed bounds a body that is not UTF-8 whose fields are named all the same.
	maxNamed = 256 << 10
)

// Decode reads a JSON body once, checks it against a schema and returns it in canonical
// form: keys sorted, no spaces, numbers as they were written.
//
// Faults: Malformed for what is not JSON, trailing data, nesting deeper than
// maxDepth, fields that are unknown, given twice or of the wrong type;
// Validation for values that do not fit, and for too many of them, as soon as there
// is one too many.
func Decode(raw []byte, schema *openapi3.Schema) ([]byte, error) {
	if len(raw) > maxNamed && !utf8.Valid(raw) {
		return nil, fault.New(fault.Malformed, "The body is not UTF-8.")
	}
	if !json.Valid(raw) {
		return nil, notJSON(json.Unmarshal(raw, new(json.RawMessage)))
	}
	r := reader{raw: raw, members: make([]member, 0, min(countMembers(raw), maxValues))}
	r.out.Grow(len(raw) + 1)
	if err := r.value(schema); err != nil {
		return nil, err
	}
	r.out.WriteByte('\n')
	return r.out.Bytes(), r.found.fault()
}

// Memory returns what Decode takes at most beside a body: six times its texts, and 40 bytes
// for each member of an object. length and result are bytes.
func Memory(length int64) int64 { return min(10*length, 6*length+40*maxValues) }

// countMembers returns how many members the objects of valid JSON have.
func countMembers(raw []byte) (n int) {
	inText := false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			inText = !inText
		case ':':
			if !inText {
				n++
			}
		}
	}
	return n
}

func notJSON(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fault.Wrap(err, fault.Malformed, "The body is not one JSON value; see byte %d.", syntax.Offset)
	}
	return fault.Wrap(err, fault.Malformed, "The body is not one JSON value.")
}

// reader goes once through valid JSON. It keeps no value, and names a field only where
// something is wrong with it.
type reader struct {
	raw   []byte
	at    int // what of raw is read
	out   bytes.Buffer
	found findings

	values   int      // read so far
	path     []step   // to the present value
	members  []member // of the objects on the path
	unsorted []byte   // an object while its members are sorted
}

// step is a key of an object, or a place in a list.
type step struct {
	key   []byte
	place int
}

// member is a member of an object, and where it stands in what is written.
type member struct {
	key      []byte
	from, to int
}

// field names the present value.
func (r *reader) field() string { return name(r.path) }

// named names a member of the present value.
func (r *reader) named(key []byte) string { return name(append(r.path, step{key: key})) }

// name names the value at the end of a path. It takes no more of the path than it shows, whatever
// the sender made of it: each value of a body may have something wrong with it.
func name(path []step) string {
	const most = utf8.UTFMax * (maxName + 1)
	var name []byte
	for _, s := range path {
		switch {
		case len(name) > most:
			continue
		case s.key == nil:
			name = fmt.Appendf(name, "[%d]", s.place)
			continue
		case len(name) > 0:
			name = append(name, '.')
		}
		name = append(name, s.key[:min(len(s.key), most)]...)
	}
	return short(strings.ToValidUTF8(strings.ReplaceAll(string(name), "\x00", "�"), "�"))
}

// next passes over spaces and returns the first byte behind them.
func (r *reader) next() byte {
	for r.raw[r.at] <= ' ' {
		r.at++
	}
	return r.raw[r.at]
}

// take passes over n bytes, which are part of the result.
func (r *reader) take(n int) []byte {
	token := r.raw[r.at : r.at+n]
	r.out.Write(token)
	r.at += n
	return token
}

// value reads the next value; the schema is nil where it may be anything.
func (r *reader) value(schema *openapi3.Schema) error {
	first := r.next()
	if r.values++; r.values > maxValues {
		return fault.Invalid(r.field(), "It must hold at most %d values, with those in lists and objects.", maxValues)
	}
	if schema != nil && len(schema.AnyOf) > 0 {
		schema = fitting(first == '"', schema.AnyOf)
	}
	switch first {
	case '{', '[':
		if len(r.path) == maxDepth {
			refusal := fault.New(fault.Malformed, "The body is nested deeper than %d levels.", maxDepth)
			refusal.Fields = map[string]string{r.field(): "It must not be nested so deep."}
			return refusal
		}
		if first == '{' {
			return r.object(r.fitting(schema, "object"))
		}
		return r.array(r.fitting(schema, "array"))
	case '"':
		r.checkText(r.fitting(schema, "string"))
	case 't', 'n':
		r.take(len("true"))
	case 'f':
		r.take(len("false"))
	default:
		r.number(schema)
	}
	switch {
	case first == 'n' && schema != nil && !schema.Nullable:
		r.found.unreadable(r.field(), "It must not be null; leave the field out.")
	case first == 't', first == 'f':
		r.fitting(schema, "boolean")
	}
	return nil
}

// fitting returns the schema where it takes a type, else nil, and notes what it takes.
func (r *reader) fitting(schema *openapi3.Schema, kind string) *openapi3.Schema {
	if schema == nil || schema.Type.Is(kind) {
		return schema
	}
	r.found.unreadable(r.field(), "%s", expected(schema))
	return nil
}

func (r *reader) object(schema *openapi3.Schema) error {
	r.take(1)
	first, begin := len(r.members), r.out.Len()
	for r.next() != '}' {
		if r.raw[r.at] == ',' {
			r.take(1)
			r.next()
		}
		from := r.out.Len()
		key, ok := r.string()
		r.path = append(r.path, step{key: key})
		if !ok {
			r.found.unfit(r.field(), notText)
		}
		var of *openapi3.Schema
		if schema != nil {
			if property := schema.Properties[string(key)]; property != nil {
				of = property.Value
			} else if open := schema.AdditionalProperties.Has; open != nil && !*open {
				r.found.unreadable(r.field(), "There is no such field.")
			}
		}
		r.next()
		r.take(len(":"))
		if err := r.value(of); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
		r.members = append(r.members, member{key, from, r.out.Len()})
	}
	r.sort(r.members[first:], begin)
	r.take(1)
	r.checkKeys(r.members[first:], schema)
	r.members = r.members[:first]
	return nil
}

// sort sorts the members of an object, which are written from begin on.
func (r *reader) sort(members []member, begin int) {
	if slices.IsSortedFunc(members, byKey) {
		return
	}
	slices.SortFunc(members, byKey)
	r.unsorted = append(r.unsorted[:0], r.out.Bytes()[begin:]...)
	r.out.Truncate(begin)
	for i, m := range members {
		if i > 0 {
			r.out.WriteByte(',')
		}
		r.out.Write(r.unsorted[m.from-begin : m.to-begin])
	}
}

func byKey(a, b member) int { return bytes.Compare(a.key, b.key) }

// checkKeys notes which keys of an object there are twice, and which are missing. They are sorted.
func (r *reader) checkKeys(members []member, schema *openapi3.Schema) {
	for i := 1; i < len(members); i++ {
		if bytes.Equal(members[i-1].key, members[i].key) {
			r.found.twice(r.named(members[i].key))
		}
	}
	if schema == nil {
		return
	}
	for _, key := range schema.Required {
		if _, given := slices.BinarySearchFunc(members, member{key: []byte(key)}, byKey); !given {
			r.found.unfit(r.named([]byte(key)), "It must be given.")
		}
	}
}

func (r *reader) array(schema *openapi3.Schema) error {
	var items *openapi3.Schema
	most := uint64(maxValues)
	if schema != nil {
		items = schema.Items.Value
		if schema.MaxItems != nil {
			most = *schema.MaxItems
		}
	}
	r.take(1)
	n := uint64(0)
	for ; r.next() != ']'; n++ {
		if r.raw[r.at] == ',' {
			r.take(1)
		}
		if n == most && schema != nil {
			return fault.Invalid(r.field(), mostEntries, most)
		}
		r.path = append(r.path, step{place: int(n)})
		if err := r.value(items); err != nil {
			return err
		}
		r.path = r.path[:len(r.path)-1]
	}
	r.take(1)
	if schema != nil && n < schema.MinItems {
		r.found.unfit(r.field(), fewestEntries, schema.MinItems, n)
	}
	return nil
}

func (r *reader) checkText(schema *openapi3.Schema) {
	text, ok := r.string()
	if !ok {
		r.found.unfit(r.field(), notText)
	}
	if schema == nil {
		return
	}
	if problem := textProblem(text, schema); problem != "" {
		r.found.unfit(r.field(), "%s", problem)
	}
}

// lineSeparator begins the characters U+2028 and U+2029, which are written as escapes.
var lineSeparator = []byte("\xe2\x80")

// escapes writes a text as JSON.
var escapes = func() *strings.Replacer {
	var pairs []string
	chars := []rune("\"\\\u2028\u2029")
	for c := range ' ' {
		chars = append(chars, c)
	}
	for _, c := range chars {
		text, _ := json.Marshal(string(c)) // no character of text fails
		pairs = append(pairs, string(c), string(text[1:len(text)-1]))
	}
	return strings.NewReplacer(pairs...)
}()

// string reads a text, without its escapes; ok says whether PostgreSQL can keep it.
func (r *reader) string() (text []byte, ok bool) {
	end, escaped := r.at+1, false
	for ; r.raw[end] != '"'; end++ {
		if r.raw[end] == '\\' {
			end, escaped = end+1, true
		}
	}
	text = r.raw[r.at+1 : end]
	if escaped {
		text = unescape(text)
	}
	if ok = isText(text); ok && (escaped || bytes.Contains(text, lineSeparator)) {
		r.out.WriteByte('"')
		_, _ = escapes.WriteString(&r.out, string(text)) // a buffer takes all
		r.out.WriteByte('"')
		r.at = end + 1
	} else {
		r.take(end + 1 - r.at)
	}
	return text, ok
}

// isText reports whether PostgreSQL can keep a text.
func isText(text []byte) bool { return utf8.Valid(text) && bytes.IndexByte(text, 0) < 0 }

// unescape returns what a text of JSON stands for. Half a character becomes a NUL, which
// is refused with the name of its field.
func unescape(text []byte) []byte {
	to := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			to = append(to, text[i])
			continue
		}
		i++
		if text[i] != 'u' {
			to = append(to, unescaped(text[i]))
			continue
		}
		char := unit(text[i+1:])
		if i += 4; utf16.IsSurrogate(char) {
			if rest := text[i+1:]; len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
				char = utf16.DecodeRune(char, unit(rest[2:]))
			} else {
				char = utf8.RuneError
			}
			if char == utf8.RuneError {
				char = 0
			} else {
				i += 6
			}
		}
		to = utf8.AppendRune(to, char)
	}
	return to
}

// unescaped returns the character of an escape like \n.
func unescaped(c byte) byte {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return c
}

// unit reads the four digits of an escape like \u00e9.
func unit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16)
	return rune(n)
}

// number reads a number, and refuses what could only be kept rounded, or not at all.
func (r *reader) number(schema *openapi3.Schema) {
	n := 0
	for r.at+n < len(r.raw) && strings.IndexByte("+-.eE0123456789", r.raw[r.at+n]) >= 0 {
		n++
	}
	text := string(r.take(n))
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	power := 0
	if exponent != "" {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil {
			power = maxDigits + 1
		}
	}
	if len(mantissa) > maxDigits || power > maxDigits || power < -maxDigits {
		r.found.unfit(r.field(), "It must have at most %d digits.", maxDigits)
	}
	if schema == nil {
		return
	}
	if problem, readable := numberProblem(text, schema); !readable {
		r.found.unreadable(r.field(), "%s", problem)
	} else if problem != "" {
		r.found.unfit(r.field(), "%s", problem)
	}
}
