package eventlog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
)

// maxInline is how many bytes of JSON a value may have that stands in an event.
const maxInline = 1024

// Content is a value that is too long to stand in an event.
type Content struct {
	SHA256 string `json:"sha256"` // of Body, hex
	Body   string `json:"body"`   // JSON
}

// Encoded is the stored form of an event's changes and payload, and the contents
// that the changes refer to.
type Encoded struct {
	Changes  json.RawMessage
	Payload  json.RawMessage
	Contents []Content
}

// Encode gives the stored form of an event of a job, for the statements that write
// an event beside the change itself. A nil payload is an empty object.
func Encode(changes []Change, payload any) (Encoded, error) {
	var e Encoded
	short := make([]Change, len(changes))
	for i, c := range changes {
		var err error
		short[i] = c
		if short[i].Old, short[i].OldSHA256, err = e.shorten(c.Old); err != nil {
			return Encoded{}, err
		}
		if short[i].New, short[i].NewSHA256, err = e.shorten(c.New); err != nil {
			return Encoded{}, err
		}
	}
	var err error
	e.Changes, e.Payload, err = encode(short, payload)
	return e, err
}

// shorten gives a value as it stands in an event: itself, its JSON, or the SHA-256 of it.
func (e *Encoded) shorten(value any) (inline any, sum string, err error) {
	if isShort(value) {
		return value, "", nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, "", fmt.Errorf("encode changes: %w", err)
	}
	if len(raw) <= maxInline {
		return json.RawMessage(raw), "", nil
	}
	digest := sha256.Sum256(raw)
	sum = hex.EncodeToString(digest[:])
	e.Contents = append(e.Contents, Content{SHA256: sum, Body: string(raw)})
	return nil, sum, nil
}

// maxEscaped is how many bytes of JSON a byte of a text may take.
const maxEscaped = len(`\u0000`)

// isShort reports whether a value is so short that its JSON need not be looked at.
func isShort(value any) bool {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Invalid, reflect.Bool, reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		return true
	case reflect.String:
		return v.Len() <= (maxInline-len(`""`))/maxEscaped
	default:
		return false
	}
}

// EncodeShort is Encode for changes of which none can be long.
func EncodeShort(changes []Change) (json.RawMessage, error) {
	text, _, err := encode(changes, nil)
	return text, err
}

// encode gives changes and payload as they are.
func encode(changes []Change, payload any) (changesJSON, payloadJSON json.RawMessage, err error) {
	if changes == nil {
		changes = []Change{}
	}
	if changesJSON, err = json.Marshal(changes); err != nil {
		return nil, nil, fmt.Errorf("encode changes: %w", err)
	}
	if raw, ok := payload.(json.RawMessage); payload == nil || ok && raw == nil {
		return changesJSON, json.RawMessage("{}"), nil
	}
	if payloadJSON, err = json.Marshal(payload); err != nil {
		return nil, nil, fmt.Errorf("encode payload: %w", err)
	}
	return changesJSON, payloadJSON, nil
}
