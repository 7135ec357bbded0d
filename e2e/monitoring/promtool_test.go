package monitoring

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	unpacked = "../../.tools/prometheus/usr/bin/"
	rules    = "../../deploy/prometheus/rules.yaml"
)

// program returns the path of a program of Prometheus.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	path, err := filepath.Abs(unpacked + name)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%s is not there: tools/ensure-promtool.sh fetches it, or says what to install", name)
	}
	return path
}

// promtool runs promtool, which must be content.
func promtool(t *testing.T, in string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(t, "promtool"), args...)
	c.Stdin = strings.NewReader(in)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args[:2], " "), err, out)
	}
}

// Every 15 s a sample, two hours of a server that is well and half an hour of a broken one.
const (
	wellSamples   = 2 * 60 * 4
	brokenSamples = 30 * 4
)

// fires asks promtool whether an alert is silent at the end of two hours of the first scrape and fires
// some minutes into the others, of which the last one lasts.
func fires(t *testing.T, alert string, minutes int, well series, broken ...series) {
	t.Helper()
	names := map[string]bool{}
	for _, s := range append(broken, well) {
		for name := range s {
			names[name] = true
		}
	}
	var b strings.Builder
	file, err := filepath.Abs(rules)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "rule_files: [%s]\nevaluation_interval: 15s\ntests:\n  - interval: 15s\n    input_series:\n", file)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		values := []string{lasting(well[name], wellSamples, false)}
		known := well[name] != ""
		for i, s := range broken {
			n := 2
			if i == len(broken)-1 {
				n = brokenSamples
			}
			values = append(values, lasting(s[name], n, known))
			known = s[name] != ""
		}
		fmt.Fprintf(&b, "      - series: '%s'\n        values: '%s'\n", name, strings.Join(values, " "))
	}
	check := func(at, n int) {
		samples := ""
		if n > 0 {
			samples = "{labels: '{}', value: 1}"
		}
		fmt.Fprintf(&b, "      - expr: count(ALERTS{alertname=\"%s\",alertstate=\"firing\"}) > bool 0\n        eval_time: %dm\n        exp_samples: [%s]\n",
			alert, at, samples)
	}
	b.WriteString("    promql_expr_test:\n")
	check(wellSamples/4-1, 0)
	check(wellSamples/4+minutes, 1)
	path := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "test", "rules", path)
}

// lasting is a value for so many samples; where it is missing, and was known before, it goes stale.
func lasting(value string, samples int, known bool) string {
	switch {
	case value != "":
		return fmt.Sprintf("%sx%d", value, samples-1)
	case known && samples > 1:
		return fmt.Sprintf("stale _x%d", samples-1)
	}
	return fmt.Sprintf("_x%d", samples)
}
