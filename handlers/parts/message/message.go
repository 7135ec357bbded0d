// Package message makes of messages what several pages show of them.
package message

import (
	"encoding/json"
	"strings"
	"time"

	blobparts "github.com/fleetboard/fleetboard/handlers/parts/blob"
	"github.com/fleetboard/fleetboard/handlers/web"
	"github.com/fleetboard/fleetboard/internal/blobs"
	"github.com/fleetboard/fleetboard/internal/bus"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/views/links"
	view "github.com/fleetboard/fleetboard/views/messageparts"
	"github.com/fleetboard/fleetboard/views/ui"
)

// shortJSON is how long a payload may be that stands in one line, in bytes.
const shortJSON = 160

// Sums returns the payloads that are kept as blobs.
func Sums(list []bus.Message) (sums []blobs.Sum) {
	for _, m := range list {
		if sum, err := blobs.ParseSum(m.Blob); err == nil {
			sums = append(sums, sum)
		}
	}
	return sums
}

// Blocks are messages as a thread shows them. sizes are those of their blobs.
func Blocks(list []bus.Message, sizes map[blobs.Sum]int64, now time.Time) []view.Block {
	blocks := make([]view.Block, len(list))
	for i, m := range list {
		text, rest := Said(m.Payload)
		if told := Told(m); told != "" {
			text, rest = told, ""
		}
		blocks[i] = view.Block{ID: links.MessageID(m.Seq), URL: links.ThreadAt(m.CorrelationID, m.Seq), From: AddressName(m.From),
			To: AddressName(m.To), Icon: icons[m.From.Kind], Who: kinds[m.From.Kind], Type: m.Type, At: ui.Ago(m.At, now), Text: text,
			JSON: rest}
		if sum, err := blobs.ParseSum(m.Blob); err == nil {
			blocks[i].BlobURL, blocks[i].BlobSize = links.Blob(m.Blob), blobparts.SizeText(sizes[sum])
		}
	}
	return blocks
}

// Said takes a payload apart into its text and what else it says.
func Said(payload json.RawMessage) (text, rest string) {
	if len(payload) == 0 {
		return "", ""
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil || json.Unmarshal(fields["text"], &text) != nil {
		return "", inLines(payload)
	}
	delete(fields, "text")
	if len(fields) == 0 {
		return text, ""
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return "", inLines(payload)
	}
	return text, inLines(raw)
}

func inLines(raw json.RawMessage) string {
	if len(raw) <= shortJSON {
		return string(raw)
	}
	return web.PrettyJSON(raw)
}

// kinds and icons are how senders are shown.
var (
	kinds = map[bus.Kind]string{bus.ToAgent: "Agent", bus.ToPerson: "Person", bus.System: "System"}
	icons = map[bus.Kind]string{bus.ToAgent: "bot", bus.ToPerson: "user", bus.System: "settings"}
)

// AddressName names a sender or an addressee.
func AddressName(a bus.Address) string {
	switch a.Kind {
	case bus.ToAll:
		return "all agents"
	case bus.ToRole:
		return "role " + a.Name
	case bus.ToFactory:
		return "factory " + a.Name
	}
	return a.Name
}

// Subject returns the name of a thread in a list: the title of its job, else how it began.
func Subject(c bus.Conversation) string {
	if c.JobTitle != "" && c.Last.JobKey == c.Last.CorrelationID {
		return c.JobTitle
	}
	if text, _ := Said(c.First.Payload); text != "" {
		return web.FirstLine(text, web.MaxQuote)
	}
	var about struct{ Actor string }
	if json.Unmarshal(c.First.Payload, &about) == nil && about.Actor != "" {
		return web.FirstLine(about.Actor+": "+c.First.Type, web.MaxQuote)
	}
	return c.First.Type
}

// Passage cuts what a search found where its marks are.
func Passage(text string) []view.Piece {
	text = strings.TrimPrefix(strings.TrimSuffix(text, `"}`), `{"text": "`)
	var list []view.Piece
	for text != "" {
		before, rest, found := strings.Cut(text, fulltext.MarkBegin)
		if before != "" {
			list = append(list, view.Piece{Text: before})
		}
		if !found {
			break
		}
		var hit string
		if hit, text, _ = strings.Cut(rest, fulltext.MarkEnd); hit != "" {
			list = append(list, view.Piece{Text: hit, Hit: true})
		}
	}
	return list
}
