package web

import (
	"bytes"
	"encoding/json"
)

// PrettyJSON returns JSON indented; text that is no JSON as it is.
func PrettyJSON(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
