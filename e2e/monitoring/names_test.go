package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

const dashboard = "../../deploy/grafana/fleetboard.json"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	alertName  = regexp.MustCompile(`(?m)^\s+- alert: (\w+)$`)
	figureName = regexp.MustCompile(`\b(?:fleetboard|go|process)_[a-z0-9_]+\b`)
)

func alertsOfRules(t *testing.T) (list []string) {
	t.Helper()
	for _, m := range alertName.FindAllStringSubmatch(read(t, rules), -1) {
		list = append(list, m[1])
	}
	return list
}

// expressions returns all expressions of the dashboard.
func expressions(t *testing.T) (list []string) {
	t.Helper()
	var all any
	if err := json.Unmarshal([]byte(read(t, dashboard)), &all); err != nil {
		t.Fatal(err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				if text, ok := inner.(string); ok && name == "expr" {
					list = append(list, text)
				}
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(all)
	return list
}

// Rules and dashboard can be read by Prometheus, and name nothing that a server does not expose.
func TestRulesAndDashboardNameWhatThereIs(t *testing.T) {
	w := start(t, nil)
	w.until("everything is there", is(`fleetboard_database_up`, 1))
	text := get(t, w.app.URL()+"/metrics")
	promtool(t, text, "check", "metrics")
	promtool(t, "", "check", "rules", rules)
	file := t.TempDir() + "/dashboard.yaml"
	var b strings.Builder
	b.WriteString("groups:\n  - name: dashboard\n    rules:\n")
	list := expressions(t)
	for _, e := range list {
		quoted, err := json.Marshal(strings.ReplaceAll(e, "$__rate_interval", "5m"))
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("      - record: panel\n        expr: " + string(quoted) + "\n")
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", "--lint=none", file)
	if len(list) < 20 {
		t.Errorf("the dashboard has only %d expressions", len(list))
	}
	exposed := map[string]bool{"fleetboard_backup_problem": true} // where a server makes backups
	for _, f := range figures(text) {
		exposed[f.name] = true
		if f.kind == "histogram" {
			exposed[f.name+"_bucket"], exposed[f.name+"_sum"], exposed[f.name+"_count"] = true, true, true
		}
	}
	for _, e := range append(list, strings.Split(read(t, rules), "\n")...) {
		for _, name := range figureName.FindAllString(e, -1) {
			if !exposed[name] {
				t.Errorf("%s is named and not exposed", name)
			}
		}
	}
}

// figure is a figure as a server describes it.
type figure struct{ name, kind, help, labels string }

var sample = regexp.MustCompile(`^(\w+)\{([^}]*)\}`)

// figures reads what /metrics says of itself.
func figures(text string) (list []figure) {
	for line := range strings.Lines(text) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 4)
		switch {
		case len(words) == 4 && words[1] == "HELP":
			list = append(list, figure{name: words[2], help: words[3]})
		case len(words) == 4 && words[1] == "TYPE":
			list[len(list)-1].kind = words[3]
		case len(list) > 0 && list[len(list)-1].labels == "":
			if m := sample.FindStringSubmatch(line); m != nil {
				var labels []string
				for _, pair := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
					if pair[1] != "le" {
						labels = append(labels, pair[1])
					}
				}
				list[len(list)-1].labels = strings.Join(labels, ", ")
			}
		}
	}
	return list
}
