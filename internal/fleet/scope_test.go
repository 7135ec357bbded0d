package fleet

import (
	"slices"
	"testing"

	"github.com/fleetboard/fleetboard/internal/fault"
	"github.com/fleetboard/fleetboard/internal/tenancy"
)

// A scope that names capabilities allows these and no others, whoever advertises
// them; one that names none allows all.
func TestInScope(t *testing.T) {
	linux := tenancy.Scope{Capabilities: []string{"os:linux", "engine:claude", "has:git"}, Factory: "desk"}
	all := FactoryInfo{Name: "desk", OS: "linux", Engines: []string{"claude"}, Capabilities: []string{"has:git"}, Repos: []Repo{{Name: "atlas"}}}
	with := func(change func(*FactoryInfo)) FactoryInfo {
		f := all
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		scope tenancy.Scope
		f     FactoryInfo
		ok    bool
	}{
		"no scope":           {tenancy.Scope{}, with(func(f *FactoryInfo) { f.OS = "mac" }), true},
		"all that it allows": {linux, all, true},
		"less":               {linux, FactoryInfo{Name: "desk"}, true},
		"system":             {linux, with(func(f *FactoryInfo) { f.OS = "mac" }), false},
		"engine":             {linux, with(func(f *FactoryInfo) { f.Engines = []string{"codex"} }), false},
		"capability":         {linux, with(func(f *FactoryInfo) { f.Capabilities = []string{"has:git", "has:gpu"} }), false},
		"factory":            {linux, with(func(f *FactoryInfo) { f.Name = "roof" }), false},
		"factory by case":    {linux, with(func(f *FactoryInfo) { f.Name = "Desk" }), false},
		"products only":      {tenancy.Scope{Products: []string{"atlas"}}, with(func(f *FactoryInfo) { f.OS = "mac" }), true},
	} {
		err := c.f.InScope(c.scope)
		if c.ok && err != nil || !c.ok && !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithin(t *testing.T) {
	offered := []string{"engine:claude", "has:gpu", "os:linux", "repo:atlas"}
	for name, c := range map[string]struct {
		scope tenancy.Scope
		want  []string
	}{
		"no scope":       {tenancy.Scope{}, offered},
		"products only":  {tenancy.Scope{Products: []string{"x"}}, offered},
		"some":           {tenancy.Scope{Capabilities: []string{"os:linux", "has:git"}}, []string{"os:linux", "repo:atlas"}},
		"none of these":  {tenancy.Scope{Capabilities: []string{"has:git"}}, []string{"repo:atlas"}},
		"a longer token": {tenancy.Scope{Capabilities: []string{"os:linux2"}}, []string{"repo:atlas"}},
	} {
		if got := Within(c.scope, offered); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if len(offered) != 4 {
		t.Error("the list that was given is changed")
	}
}
