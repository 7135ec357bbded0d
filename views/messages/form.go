package messages

import (
	"strconv"

	"github.com/fleetboard/fleetboard/views/ui"
)

// The fields of the forms, in their order.
var (
	answerFields = []ui.Field{{Name: "to", Label: "Answer"}, {Name: "text", Label: "Your message"}}
	newFields    = []ui.Field{{Name: "to", Label: "To"}, {Name: "name", Label: "Name"}, {Name: "job", Label: "Job"},
		{Name: "thread", Label: "Thread"}, {Name: "text", Label: "Text"}}
)

// Max is how many characters the text may have.
func (f Form) Max() string { return strconv.Itoa(f.MaxText) }
