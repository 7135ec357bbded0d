package mcptools

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fleetboard/fleetboard/internal/jobs/verdict"
)

// Verifier does what the tools of a verification are called for. The agent gets an error in its words.
type Verifier interface {
	Progress(ctx context.Context, p Progress) error
	// GiveVerdict takes what the agent says of the work, as JSON. What is given later replaces it.
	GiveVerdict(ctx context.Context, verdict json.RawMessage) error
}

// ServeVerifier answers programs that verify work, as Serve does. They have two tools: whoever judges
// what others wrote neither talks to them nor files jobs for them.
func ServeVerifier(ctx context.Context, l net.Listener, v Verifier) error {
	return serve(ctx, l, func() *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "fleetboard", Version: "1.0.0"}, nil)
		addProgress(s, v, said)
		addVerdict(s, v)
		return s
	})
}

// addVerdict adds the tool that takes a verdict. It says what is wrong with one itself: by its field, and
// what must be there.
func addVerdict(s *mcp.Server, v Verifier) {
	s.AddTool(
		&mcp.Tool{
			Name: "give_verdict",
			Description: "Say what you think of the work that you verify: approve where all criteria are met and nothing must change, " +
				"changes where something must, unsure where you cannot tell. Call it before you end your turn; what you give last counts.",
			InputSchema: verdictSchema(),
		},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := v.GiveVerdict(ctx, r.Params.Arguments); err != nil {
				refusal := said(err.Error())
				refusal.IsError = true
				return refusal, nil
			}
			return said("Taken. End your turn now, or give another verdict in its place."), nil
		},
	)
}

// verdictSchema is the form of a verdict, for agents.
func verdictSchema() map[string]any {
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	word := func(about string, words []string) map[string]any {
		return map[string]any{"type": "string", "enum": words, "description": about}
	}
	list := func(about string, of map[string]any) map[string]any {
		return map[string]any{"type": "array", "items": of, "description": about}
	}
	return object(map[string]any{
		"verdict": word("what you think of the work", verdict.Words),
		"criteria": list("one answer for each acceptance criterion, in their order; empty where there are none", object(map[string]any{
			"text":     text("the criterion, word by word"),
			"met":      word("whether it is met", verdict.Answers),
			"evidence": text("by what you know that: what you ran and what it said, or a file and a line; empty only where met is unknown"),
		})),
		"findings": list("what is wrong or should be better; empty where nothing is", object(map[string]any{
			"path":     text("the file, from the root of the repository"),
			"line":     map[string]any{"type": "integer", "minimum": 0, "description": "the line, or 0 for the whole file"},
			"severity": word("how bad it is", verdict.Severities),
			"text":     text("what is wrong, and what to do"),
		})),
	})
}

// object is a schema of an object with all of these properties.
func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties, "required": slices.Sorted(maps.Keys(properties)),
		"additionalProperties": false}
}
