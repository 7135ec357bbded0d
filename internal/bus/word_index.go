package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fleetboard/fleetboard/db"
	"github.com/fleetboard/fleetboard/internal/eventlog"
	"github.com/fleetboard/fleetboard/internal/fulltext"
	"github.com/fleetboard/fleetboard/internal/ids"
)

// wordsPage is how many messages one transaction indexes.
const wordsPage = 200

// wordIndex writes the words by which messages are found.
type wordIndex struct {
	db   *db.DB
	sent eventlog.Changed // workspaces with messages since IndexWords
}

// IndexWords writes the words of the messages that were sent since the last call, outside of the
// transactions that send them. It returns how many messages it indexed.
func (x *wordIndex) IndexWords(ctx context.Context) (total int, err error) {
	list, all := x.sent.Take(time.Now())
	if all {
		if list, err = workspaces(ctx, x.db); err != nil {
			return 0, err
		}
	}
	for _, workspace := range list {
		n, failed := x.indexWords(ctx, workspace)
		total += n
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("words of messages of %s: %w", workspace, failed))
			x.sent.Note(Topic(workspace))
		}
	}
	return total, err
}

// indexWords writes the words of the messages of a workspace, page by page. Messages that a running
// transaction holds back are indexed by the next call.
func (x *wordIndex) indexWords(ctx context.Context, workspace ids.ID) (total int, err error) {
	for n, held := wordsPage, false; n == wordsPage && ctx.Err() == nil; total += n {
		err = x.db.In(ctx, db.Workspace(workspace), func(tx db.Tx) error {
			n, held, err = indexWordsTx(ctx, tx, workspace)
			return err
		}, db.ByIndex)
		if err != nil {
			return total, err
		}
		if held {
			x.sent.Note(Topic(workspace))
		}
	}
	return total, ctx.Err()
}

// indexWordsTx writes the words of one page of messages. It returns how many messages, and whether a
// running transaction holds further ones back.
func indexWordsTx(ctx context.Context, tx db.Tx, workspace ids.ID) (n int, held bool, err error) {
	after, era, err := lockWordsTx(ctx, tx, workspace)
	if err != nil {
		return 0, false, err
	}
	list, end, err := unfoundTx(ctx, tx, workspace, after)
	if err != nil {
		return 0, false, err
	}
	if len(list) < wordsPage {
		if held, err = q.MessageWordsHeldBack(ctx, tx, workspace, end); err != nil || len(list) == 0 {
			return 0, held, err
		}
	}
	return len(list), held, writeWordsTx(ctx, tx, workspace, list, end, era)
}

// payloadText returns the texts and numbers of a payload, one after another.
func payloadText(payload json.RawMessage) string {
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(string(payload)))
	d.UseNumber()
	var value any
	if d.Decode(&value) == nil {
		appendText(&b, value)
	}
	return b.String()
}

// appendText adds the texts and numbers of a JSON value.
func appendText(b *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		separate(b)
		b.WriteString(v)
	case json.Number:
		separate(b)
		b.WriteString(v.String())
	case []any:
		for _, one := range v {
			appendText(b, one)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			appendText(b, v[key])
		}
	}
}

func separate(b *strings.Builder) {
	if b.Len() > 0 {
		b.WriteString(" · ")
	}
}

// messageWords returns the words of a message: of its payload, type, sender, addressee and thread.
func messageWords(m Message) string {
	var v fulltext.Vector
	v.Add('A', payloadText(m.Payload))
	for _, text := range []string{m.Type, m.From.Name, m.To.Name, m.CorrelationID} {
		v.Add('B', text)
	}
	return v.String()
}
