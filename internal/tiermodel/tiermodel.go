// Package tiermodel says which model an engine runs a job of a tier with. The name of a model
// becomes an argument of a command, so that a table holds no name that could be anything else.
package tiermodel

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Table names a model for engines and tiers: {"claude": {"large": "opus"}}.
type Table map[string]map[string]string

const (
	// MaxEngines is how many engines a table may have.
	MaxEngines = 8
	// MaxEngine is the limit of an engine's name.
	MaxEngine = 32
	// MaxModel is the limit of a model's name.
	MaxModel = 64
	// MaxStored is how many bytes of JSON a table may take; the largest that passes takes fewer.
	MaxStored = 8192
)

// Tiers are the sizes of models, the smallest first.
var Tiers = []string{"small", "standard", "large"}

// Programs are the engines that pages have rows for. A table may have others.
var Programs = []string{"claude", "codex", "opencode"}

var (
	engineName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	// modelName is what vendors, clouds and gateways use in names. It begins with no hyphen, so
	// that no name is an option, and has nothing that a shell or a terminal reads.
	modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,63}$`)
)

// IsEngine reports whether a text can be the name of an engine.
func IsEngine(name string) bool { return engineName.MatchString(name) }

// IsModel reports whether a text can be the name of a model.
func IsModel(name string) bool { return modelName.MatchString(name) }

// Find returns the model for an engine and a tier; "" where the table names none, or one that
// is no name of a model.
func (t Table) Find(engine, tier string) string {
	if name := t[engine][tier]; IsModel(name) {
		return name
	}
	return ""
}

// Models returns the models that the table names for some engines, each once, in order.
func (t Table) Models(engines []string) (names []string) {
	for _, engine := range engines {
		for _, tier := range Tiers {
			if name := t.Find(engine, tier); name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Lines returns the table as the flag --tier-model takes it, line by line.
func (t Table) Lines() (lines []string) {
	for _, engine := range slices.Sorted(maps.Keys(t)) {
		for _, tier := range Tiers {
			if name := t[engine][tier]; name != "" {
				lines = append(lines, engine+":"+tier+"="+name)
			}
		}
	}
	return lines
}

// Clone returns a copy without engines for which no model is named. It is never nil.
func (t Table) Clone() Table {
	c := Table{}
	for engine, models := range t {
		if len(models) > 0 {
			c[engine] = maps.Clone(models)
		}
	}
	return c
}

// Set names a model for an engine and a tier, or none where the name is empty.
func (t Table) Set(engine, tier, model string) {
	if model == "" {
		delete(t[engine], tier)
		if len(t[engine]) == 0 {
			delete(t, engine)
		}
		return
	}
	if t[engine] == nil {
		t[engine] = map[string]string{}
	}
	t[engine][tier] = model
}

// Equal reports whether two tables name the same models.
func (t Table) Equal(other Table) bool { return slices.Equal(t.Lines(), other.Lines()) }

// What a part of a table must be.
const (
	wrongEngine = "The name of an engine begins with a small letter and has small letters, digits and -, at most 32."
	wrongTier   = "A tier is small, standard or large."
	wrongModel  = "The name of a model begins with a letter or digit and has letters, digits and . _ : / @ + [ ] -, at most 64."
)

// Problems returns what is wrong with a table, by the path of the part: models.claude.large.
func (t Table) Problems(at string) map[string]string {
	wrong := map[string]string{}
	if len(t) > MaxEngines {
		wrong[at] = fmt.Sprintf("It must have at most %d engines.", MaxEngines)
		return wrong
	}
	for engine, models := range t {
		if !IsEngine(engine) {
			wrong[at] = wrongEngine
			continue
		}
		for tier, name := range models {
			switch {
			case !slices.Contains(Tiers, tier):
				wrong[at+"."+engine] = wrongTier
			case !IsModel(name):
				wrong[at+"."+engine+"."+tier] = wrongModel
			}
		}
	}
	return wrong
}

// refusal returns a sentence as an error.
func refusal(sentence string) error { return errors.New(strings.TrimSuffix(sentence, ".")) }

// ParseLine takes a line apart: claude:large=opus. The model may be empty, which names none.
func ParseLine(line string) (engine, tier, model string, err error) {
	place, model, ok := strings.Cut(line, "=")
	engine, tier, both := strings.Cut(place, ":")
	switch {
	case !ok || !both:
		err = fmt.Errorf("%q is not ENGINE:TIER=MODEL, as in claude:large=opus", line)
	case !IsEngine(engine):
		err = refusal(wrongEngine)
	case !slices.Contains(Tiers, tier):
		err = refusal(wrongTier)
	case model != "" && !IsModel(model):
		err = refusal(wrongModel)
	}
	return engine, tier, model, err
}
