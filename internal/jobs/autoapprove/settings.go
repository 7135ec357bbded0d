package autoapprove

import (
	"fmt"
	"slices"

	"github.com/fleetboard/fleetboard/internal/fault"
)

// Bounds and defaults of the settings.
const (
	MaxLines     = 500
	MaxFiles     = 50
	MaxDeny      = 100
	MaxPattern   = 256 // characters
	defaultLines = 50
	defaultFiles = 5
)

// Settings are within which limits the work of a product is approved without a person. The zero value is not
// at all.
type Settings struct {
	Enabled bool `json:"enabled"`
	// MaxLines is how many lines work may add and remove together, MaxFiles how many files it may touch; nil
	// is the default.
	MaxLines *int `json:"max_lines"`
	MaxFiles *int `json:"max_files"`
	// DenyPaths are globs of what it must not touch, beside what is always a person's; nil are SuggestDeny.
	DenyPaths []string `json:"deny_paths"`
	// RequireVerdict is whether a verifier must have approved the commit; nil is yes.
	RequireVerdict *bool `json:"require_verdict"`
}

// SuggestDeny returns what the work of a new product must not touch: what others build, run or depend on.
func SuggestDeny() []string {
	return []string{"*.lock", "*.min.js", "*.pem", "*.sql", ".env*", "Dockerfile*", "Makefile", "auth", "deploy", "dist", "generated",
		"go.mod", "go.sum", "infra", "migrations", "node_modules", "package-lock.json", "package.json", "pnpm-lock.yaml",
		"pyproject.toml", "requirements*.txt", "security", "vendor"}
}

// OrDefault returns the settings with what was left out.
func (s Settings) OrDefault() Settings {
	s.MaxLines, s.MaxFiles = orDefault(s.MaxLines, defaultLines), orDefault(s.MaxFiles, defaultFiles)
	s.RequireVerdict = orDefault(s.RequireVerdict, true)
	if s.DenyPaths == nil {
		s.DenyPaths = SuggestDeny()
	}
	s.DenyPaths = slices.Compact(slices.Sorted(slices.Values(s.DenyPaths)))
	if s.DenyPaths == nil {
		s.DenyPaths = []string{}
	}
	return s
}

// ApprovesUnverified reports whether work is approved that nobody has verified.
func (s Settings) ApprovesUnverified() bool {
	return s.Enabled && s.RequireVerdict != nil && !*s.RequireVerdict
}

func orDefault[T any](value *T, otherwise T) *T {
	if value == nil {
		return &otherwise
	}
	return new(*value)
}

// Check adds what is wrong with the settings, with the fields as the API names them. verified says whether the
// product has its work verified, without which no verdict would come.
func (s Settings) Check(p fault.Problems, verified bool) {
	given := s.OrDefault()
	p.Number("auto_approve.max_lines", *given.MaxLines, 1, MaxLines)
	p.Number("auto_approve.max_files", *given.MaxFiles, 1, MaxFiles)
	if given.Enabled && *given.RequireVerdict && !verified {
		p.Add("auto_approve.require_verdict", "No verdict would ever come: set verify.mode to agent.")
	}
	if len(s.DenyPaths) > MaxDeny {
		p.Add("auto_approve.deny_paths", "It must have at most %d entries.", MaxDeny)
		return
	}
	for i, pattern := range s.DenyPaths {
		if why := checkPattern(pattern); why != "" {
			p.Add(fmt.Sprintf("auto_approve.deny_paths[%d]", i), "%s", why)
		}
	}
}

// Changes lists what differs from the settings of before, each by note.
func (s Settings) Changes(before Settings, note func(field string, differs bool, old, new any)) {
	was, now := before.OrDefault(), s.OrDefault()
	note("auto_approve", was.Enabled != now.Enabled, was.Enabled, now.Enabled)
	note("auto_max_lines", *was.MaxLines != *now.MaxLines, *was.MaxLines, *now.MaxLines)
	note("auto_max_files", *was.MaxFiles != *now.MaxFiles, *was.MaxFiles, *now.MaxFiles)
	note("auto_deny_paths", !slices.Equal(was.DenyPaths, now.DenyPaths), was.DenyPaths, now.DenyPaths)
	note("auto_require_verdict", *was.RequireVerdict != *now.RequireVerdict, *was.RequireVerdict, *now.RequireVerdict)
}
