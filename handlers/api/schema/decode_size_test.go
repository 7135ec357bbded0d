package schema_test

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/fleetboard/fleetboard/handlers/api"
	"github.com/fleetboard/fleetboard/handlers/api/schema"
	"github.com/fleetboard/fleetboard/internal/fault"
)

// Entries and values are counted while they are read: what is too much takes little
// memory. It counts what the process allocates, and so runs alone.
func TestTooManyValuesCostLittle(t *testing.T) {
	all := bodies(t)
	for what, c := range map[string]struct {
		call, before, item, after, field string
	}{
		"lines":               {"writeLogs", `{"job":"A","epoch":1,"lines":[`, "{}", "]}", "lines"},
		"values of a line":    {"writeLogs", `{"job":"A","epoch":1,"lines":[{"level":"INFO","message":"x","details":{"a":[`, "[0]", "]}}]}", ""},
		"items of a batch":    {"reportBatch", `{"items":[`, "{}", "]}", "items"},
		"values of a report":  {"reportBatch", `{"items":[{"verb":"logs","job":"A","epoch":1,"lines":[`, "{}", "]}]}", ""},
		"values of no schema": {"writeLogs", `{"none":[`, "{}", "]}", ""},
	} {
		body := []byte(c.before + strings.Repeat(c.item+",", (api.MaxLogBody-200)/(len(c.item)+1)) + c.item + c.after)
		_, err := schema.Decode(body, all[c.call])
		refusal := fault.From(err)
		if _, ok := refusal.Fields[c.field]; refusal.Code != fault.Validation || !ok && c.field != "" {
			t.Errorf("%s: %v %v", what, err, refusal.Fields)
		}
		measured := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				_, _ = schema.Decode(body, all[c.call])
			}
		})
		if n := measured.AllocedBytesPerOp(); n > schema.Memory(int64(len(body))) {
			t.Errorf("%s: %d KB for a body of %d KB", what, n>>10, len(body)>>10)
		}
	}
}

// What a body takes while it is read has the bound that its share of memory has. It counts
// what the process allocates, and so runs alone.
func TestReadingTakesNoMoreThanItsShare(t *testing.T) {
	described := bodies(t)["createJob"]
	for what, item := range map[string]string{
		"text": `"` + strings.Repeat("x", 1<<10) + `"`, "escapes": `"` + strings.Repeat(`\n`, 1<<10) + `"`,
		"separators": `"` + strings.Repeat("\u2028", 1<<10) + `"`, "objects": `{"b":0,"a":0}`, "spaced objects": `{"b" :0,"a" :0}`,
		"no members": `"` + strings.Repeat(`\":`, 1<<10) + `"`, "short names": `{"":0}`,
		"nested": strings.Repeat(`{"z":{"y":0},"a":`, 28) + "0" + strings.Repeat("}", 28),
	} {
		body := []byte(`{"title":"x","input_context":{"a":[` + strings.Repeat(item+",", (200<<10)/(len(item)+1)) + item + `]}}`)
		measured := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if _, err := schema.Decode(body, described); err != nil {
					b.Fatal(err)
				}
			}
		})
		if n := measured.AllocedBytesPerOp(); n > schema.Memory(int64(len(body))) {
			t.Errorf("%s: %d KB for a body of %d KB", what, n>>10, len(body)>>10)
		}
	}
}

// What is not UTF-8 is refused before it is read. It counts what the process
// allocates, and so runs alone.
func TestALargeBodyThatIsNoTextCostsLittle(t *testing.T) {
	body := []byte(`{"lines":["` + strings.Repeat("\xffa", api.MaxLogBody/2-50) + `"]}`)
	measured := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if _, err := schema.Decode(body, openapi3.NewObjectSchema()); !fault.Is(err, fault.Malformed) {
				b.Fatal(err)
			}
		}
	})
	if n := measured.AllocedBytesPerOp(); n > 1<<20 {
		t.Errorf("%d MB for a body of %d MB", n>>20, len(body)>>20)
	}
}
