package mcp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// tool is a call of the API under a name that programs choose by.
type tool struct {
	name string
	// about is what the call's summary does not say: how a program uses the tool.
	about string
	kind  tenancy.Kind
	// calls are the operations of the API that it stands for.
	calls []string
	// fields are those of the calls that it offers; the others are for programs that are no
	// tools' users, such as workers.
	fields []string
	// must are those that must be given although the call would do without.
	must []string
	// choose says which of several calls is made; it may take fields away that were for that.
	choose func(*arguments) (string, error)
	// own are fields that choose takes.
	own map[string]*jsonSchema
	// whole are query parameters that are sent where the program leaves them out.
	whole map[string]string
	// ends says that it ends or undoes something.
	ends bool
}

// listTools returns those that a caller may use.
func listTools(who tenancy.Principal) []*tool {
	var mine []*tool
	for _, t := range tools {
		if t.kind == who.Kind && !slices.ContainsFunc(t.calls, func(id string) bool { return !who.Can(operations()[id].need) }) {
			mine = append(mine, t)
		}
	}
	return mine
}

// offer returns what programs are told of the tool.
func (t *tool) offer() *protocol.Tool {
	no := false
	return &protocol.Tool{Name: t.name, Description: t.description(), InputSchema: t.input(), Annotations: &protocol.ToolAnnotations{
		ReadOnlyHint: t.onlyReads(), DestructiveHint: &t.ends, OpenWorldHint: &no}}
}

func (t *tool) description() string {
	if about := operations()[t.calls[0]].summary; t.choose == nil {
		first, _, _ := strings.Cut(about, ". ")
		return strings.TrimSpace(strings.TrimSuffix(first, ".") + ". " + t.about)
	}
	return t.about
}

// onlyReads reports whether the tool changes nothing.
func (t *tool) onlyReads() bool {
	return t.name != "read_messages" &&
		!slices.ContainsFunc(t.calls, func(id string) bool { return operations()[id].method != "GET" })
}

// input returns the schema of what the tool takes. A field that must be given in each of its calls
// must be given.
func (t *tool) input() *jsonSchema {
	closed := false
	all := &jsonSchema{Type: "object", Properties: map[string]*jsonSchema{}, Closed: &closed, Required: slices.Clone(t.must)}
	for name, s := range t.own {
		all.Properties[name] = s
	}
	for _, name := range t.fields {
		found, everywhere := 0, true
		for _, id := range t.calls {
			s, required := operations()[id].field(name)
			everywhere = everywhere && s != nil && required
			if s != nil {
				found++
				all.Properties[name] = cmp.Or(all.Properties[name], s)
			}
		}
		if found == 0 {
			panic(fmt.Sprintf("mcp: %s offers %s, which no call takes", t.name, name))
		}
		if everywhere && !slices.Contains(all.Required, name) {
			all.Required = append(all.Required, name)
		}
	}
	slices.Sort(all.Required)
	return all
}

// check refuses arguments without what the tool must be given.
func (t *tool) check(in *arguments) error {
	missing := map[string]string{}
	for _, name := range t.must {
		if !in.has(name) {
			missing[name] = "It must be given."
		}
	}
	if len(missing) > 0 {
		return fault.InvalidFields(missing)
	}
	return nil
}
