package history

import (
	"strconv"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/views/ui"
)

// EditedText names the fields that an edit changed.
func EditedText(changes []eventlog.Change) string {
	var fields []string
	for _, c := range changes {
		if c.Field != "status" && c.Field != "wait_reason" {
			fields = append(fields, fieldName(c.Field))
		}
	}
	return web.JoinAnd(fields)
}

func fieldName(field string) string {
	return web.FirstLine(strings.ReplaceAll(strings.TrimSuffix(field, moneyField), "_", " "), maxField)
}

// maxField is how many characters of a field's name or value a line shows.
const maxField = 40

// fieldValue writes a field's value in a few words: people's and agents' text
// is cut.
func fieldValue(field string, v any) string {
	switch value := v.(type) {
	case nil:
		return "none"
	case bool:
		if value {
			return "yes"
		}
		return "no"
	case float64:
		if field == "body" {
			return web.Plural(toNumber(v), "character", "characters")
		}
		return strconv.FormatFloat(value, 'f', -1, 64)
	case string:
		if strings.HasSuffix(field, moneyField) {
			return moneyText(value)
		}
		if text := web.FirstLine(value, maxField); text != "" {
			return text
		}
		return "none"
	case []any:
		return listValue(field, value)
	default:
		return "changed"
	}
}

func listValue(field string, list []any) string {
	if len(list) == 0 {
		return "none"
	}
	if field == "acceptance" || field == "acceptance_met" {
		return web.Plural(met(field, list), "criterion", "criteria")
	}
	words := make([]string, 0, len(list))
	for _, v := range list[:min(len(list), web.MaxListed)] {
		words = append(words, fieldValue("", v))
	}
	if len(list) > web.MaxListed {
		words = append(words, strconv.Itoa(len(list)-web.MaxListed)+" more")
	}
	return web.FirstLine(strings.Join(words, ", "), maxField)
}

// met counts criteria: of ticks, those that are set.
func met(field string, list []any) int {
	if field != "acceptance_met" {
		return len(list)
	}
	n := 0
	for _, v := range list {
		if v == true {
			n++
		}
	}
	return n
}

// changeValue is fieldValue of a change; a value that stands apart is only long.
func changeValue(c eventlog.Change, v any, apart string) ui.Sentence {
	text, _ := v.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case apart != "":
		return ui.Text("a long text")
	case text != "" && c.Field == "body":
		return ui.Text(web.Plural(len([]rune(text)), "character", "characters"))
	case err == nil:
		return ui.Say(ui.Moment(ui.Day(at)))
	default:
		return ui.Text(fieldValue(c.Field, v))
	}
}
