package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fleetboard/fleetboard/api"
)

// languages are the tools whose version a person looks for, the first of them first.
var languages = []string{"go", "node", "python3", "java", "rustc", "ruby", "php", "dotnet", "swift"}

// isVersion is the value of a capability such as go:1.26.
var isVersion = regexp.MustCompile(`^[0-9]+(\.[0-9]+)*$`)

// offersInShort returns what a factory offers, by kind: repositories, engines, what its owner has
// labelled, languages, its system; other tools are counted.
func offersInShort(f api.Factory) string {
	const most = 2 // of the same kind
	versions, tools, labels := map[string]string{}, map[string]bool{}, []string{}
	for _, offer := range f.Offers {
		kind, value, _ := strings.Cut(offer, ":")
		switch {
		case slices.Contains([]string{"repo", "os", "arch", "engine"}, kind) && value != "":
		case kind == "has" && value != "":
			tools[value] = true
		case isVersion.MatchString(value):
			versions[kind] = longer(versions[kind], value)
			tools[kind] = true
		default:
			labels = append(labels, offer)
		}
	}
	var names []string
	for _, repo := range f.Repos {
		names = append(names, repo.Name)
	}
	all := orCount(names, 1, "repos")
	for _, engine := range f.Engines {
		all = append(all, strings.TrimSpace(engine+" "+versions[engine]))
		delete(tools, engine)
	}
	all = append(all, orCount(labels, most, "labels")...)
	shown := 0
	for _, name := range languages {
		if tools[name] && shown < most {
			all = append(all, strings.TrimSpace(name+" "+versions[name]))
			delete(tools, name)
			shown++
		}
	}
	all = append(all, f.OS)
	if len(tools) > 0 {
		all = append(all, fmt.Sprintf("%d more", len(tools)))
	}
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), ", ")
}

// orCount are names, or how many they are where they are more than most.
func orCount(names []string, most int, what string) []string {
	if len(names) <= most {
		return names
	}
	return []string{fmt.Sprintf("%d %s", len(names), what)}
}

// longer returns the version that says more.
func longer(a, b string) string {
	if len(b) > len(a) {
		return b
	}
	return a
}
