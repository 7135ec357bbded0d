// Package reference is the reference of the API: what it can be asked, as its description says.
package reference

// Index lists all calls.
type Index struct {
	Version string
	Intro   []string // paragraphs
	Groups  []Group
	Schemas []Link
}

// Link leads to a part of the reference.
type Link struct{ Text, URL string }

// Group is the calls about one thing.
type Group struct {
	Name, URL string
	Calls     []Call
}

// Call is a call of the API.
type Call struct {
	ID, Method, Path string
	URL              string // of its description
	Summary          string
	Permission       string
	Tokens           string // whose may be used
	Parameters       []Field
	Body             *Body // nil for none
	Answers          []Answer
}

// Body is what a call takes.
type Body struct {
	Type     Type
	Required bool
	Fields   []Field // of one that has no name
}

// Answer is an answer of a call.
type Answer struct {
	Status, Text string
	Type         Type
}

// Field is a parameter, or a field of an object.
type Field struct {
	Name, In string
	Required bool
	Type     Type
	Text     string
	Limits   []string
}

// Type is the type of a value: words before and behind the name of a schema, which has a page.
type Type struct{ Before, Name, URL, After string }

// Schema is a named type.
type Schema struct {
	Name, Text string
	Type       Type // of one without fields
	Fields     []Field
	Limits     []string
}
