package tokens

import (
	"context"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// MaxProgram bounds the name of a program that calls tools, in characters.
const MaxProgram = 100

// toolsEvery is how often calls of tools by one token are written down, toolsKept of how many
// tokens it is known.
const (
	toolsEvery = 10 * time.Second
	toolsKept  = 10_000
)

// ToolUse is the last call of a tool by one of a person's tokens.
type ToolUse struct {
	// Token is the name of the token, Program what the program said that it is, "" where it
	// said nothing.
	Token, Program string
	At, Now        time.Time
}

// SeeTools notes that somebody called a tool, with which program. What agents do stands on
// Agents, so that theirs are not noted.
func (s *Service) SeeTools(ctx context.Context, who tenancy.Principal, program string) error {
	if who.Kind != tenancy.KindPerson {
		return nil
	}
	if program = strings.Map(printable, program); len(program) > MaxProgram {
		program = program[:MaxProgram] // of ASCII alone
	}
	now := s.now()
	last, known := s.tools.Get(who.Token)
	if known && last.program == program && now.Sub(last.at) < toolsEvery {
		return nil
	}
	s.tools.Add(who.Token, toolUse{program, now})
	return s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		return q.AccessTokenTools(ctx, tx, program, who.Workspace, who.Token)
	})
}

// toolUse is what is known of a token's last noted call.
type toolUse struct {
	program string
	at      time.Time
}

// LastTools returns the last call of a tool by one of the caller's own tokens, false where
// there was none.
func (s *Service) LastTools(ctx context.Context, who tenancy.Principal) (use ToolUse, ok bool, err error) {
	err = s.db.In(ctx, db.Workspace(who.Workspace), func(tx db.Tx) error {
		rows, err := q.AccessTokenLastTools(ctx, tx, who.Workspace, who.Account)
		if err == nil && len(rows) > 0 {
			use, ok = ToolUse{Token: rows[0].Name, Program: rows[0].Program, At: *rows[0].ToolsAt, Now: rows[0].Now}, true
		}
		return err
	})
	return use, ok, err
}

// printable leaves out what is no visible character of ASCII: a program says its own name.
func printable(r rune) rune {
	if r < '!' || r > '~' {
		return -1
	}
	return r
}
