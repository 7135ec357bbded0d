package web

import (
	"bytes"
	"encoding/json"
)

// PrettyJSON indents what an agent sent; what does not parse stays as it is.
func PrettyJSON(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
