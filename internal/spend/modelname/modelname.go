package modelname

import (
	"regexp"
	"strings"
)

// Canonical is who makes a model and what he calls it, given how a provider names it: ""
// is a provider that nobody named. It is false for what the tables do not know, such as
// fine-tunes, free variants, deployments with names of their own and other providers.
func Canonical(provider, model string) (maker, name string, known bool) {
	if seller := Provider(provider); seller != "" && !sellers[seller] {
		return "", "", false
	}
	name = strings.ToLower(strings.TrimSpace(model))
	name, known = withoutPlace(name)
	if !known {
		return "", "", false
	}
	name = strings.NewReplacer(" ", "-", "_", "-").Replace(name)
	if name = withoutEndings(name, endings); aliases[name] != "" {
		name = aliases[name]
	}
	maker = findMaker(name)
	name, known = inOrder(maker, withoutEndings(name, ofMaker[maker]))
	if !known || apart[name] || !plain.MatchString(name) {
		return "", "", false
	}
	return maker, name, true
}

// Provider returns a provider's name as it is compared: in small letters, with - between words.
func Provider(name string) string {
	return strings.NewReplacer(" ", "-", "_", "-", ".", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// withoutPlace returns a name without where it is served. It is false for a place that the
// tables do not know.
func withoutPlace(name string) (string, bool) {
	for _, path := range []*regexp.Regexp{amazonPath, googlePath} {
		name = strings.TrimPrefix(name, path.FindString(name))
	}
	for {
		place, rest, deeper := strings.Cut(name, "/")
		if !deeper {
			break
		}
		if !places[place] && !region.MatchString(name) {
			return "", false
		}
		name = rest
	}
	for _, before := range [][]string{regions, vendors} {
		for _, word := range before {
			if rest, has := strings.CutPrefix(name, word); has {
				name = rest
				break
			}
		}
	}
	return name, true
}

// withoutEndings takes endings away as long as there is one. What is apart keeps all.
func withoutEndings(name string, list []*regexp.Regexp) string {
	for changed := true; changed; {
		changed = false
		for _, ending := range list {
			at := ending.FindStringSubmatchIndex(name)
			if at == nil || apart[name] {
				continue
			}
			// The ending itself is the last group, where the whole is more.
			name, changed = name[:at[len(at)-2]], true
		}
	}
	return name
}

func findMaker(name string) string {
	for _, f := range families {
		if f.begins.MatchString(name) {
			return f.maker
		}
	}
	return ""
}

// inOrder writes a name as its maker does. It is false for a name of nobody, and for one of
// Claude that says more than its family and version.
func inOrder(maker, name string) (string, bool) {
	if maker != Anthropic {
		return geminiDashed.ReplaceAllString(name, "gemini-$1.$2-"), maker != ""
	}
	if m := claudeFamilyFirst.FindStringSubmatch(name); m != nil {
		return claude(m[1], m[2], m[3]), true
	}
	if m := claudeVersionFirst.FindStringSubmatch(name); m != nil {
		return claude(m[3], m[1], m[2]), true
	}
	return "", false
}

func claude(family, major, minor string) string {
	version := major
	if minor != "" {
		version += "-" + minor
	}
	if len(major) == 1 && major < "4" {
		return "claude-" + version + "-" + family
	}
	return "claude-" + family + "-" + version
}
